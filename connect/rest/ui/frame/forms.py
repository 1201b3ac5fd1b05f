"""Forms of pages: a token that pages of the worker alone can read, and each form carried out once.

The token is in a cookie and in the form. Another page can have a form sent with the cookie, but cannot read it. No
worker keeps tokens, so each takes the forms that another has made.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from aiohttp import web
from yarl import URL

from connect.rest.errors.http_error import HttpError
from connect.rest.server.author import is_passed_on
from connect.rest.server.context import context_of
from connect.rest.server.request_body import body_of
from connect.rest.server.rights import require
from connect.rest.ui.frame.links import ROOT

T = TypeVar("T")
FORM: Final = "application/x-www-form-urlencoded"
FIELD: Final = "token"
ONCE: Final = "once"
"""The field whose value no other form has."""
_COOKIE: Final = "connect-ui"
_TOKEN: Final = re.compile(r"[\w-]{43}", re.ASCII)
_MADE: Final = web.RequestKey("form_token", str)
_FIELDS_MAX: Final = 50
_KEPT: Final = 1000


def token_of(request: web.Request) -> str:
    """Return the token that the browser has, or one made for it."""
    known = request.cookies.get(_COOKIE, "")
    if _TOKEN.fullmatch(known):
        return known
    if _MADE not in request:
        request[_MADE] = secrets.token_urlsafe(32)
    return request[_MADE]


def keep_token(request: web.Request, response: web.Response) -> None:
    """Give the browser a token that was made for it."""
    if _MADE in request:
        response.set_cookie(
            _COOKIE, request[_MADE], path=ROOT, httponly=True, samesite="Lax", secure=request.scheme == "https"
        )


async def form_of(request: web.Request, *, names_connector: bool = True) -> Mapping[str, str]:
    """Return a form's fields.

    HttpError 403: pages change nothing here, the token is missing or wrong, or the sender lacks the role at the
    connector that the form names.
    """
    if context_of(request).worker.rest_ui != "on":
        raise HttpError(403, "Pages of this worker change nothing: rest.ui=read-only is in its file.")
    try:
        fields = fields_of((await body_of(request)).decode())
    except ValueError as error:
        raise HttpError(400, f"The form cannot be read: {error}.") from error
    if not is_passed_on(request) and not _fits(request.cookies.get(_COOKIE, ""), fields.get(FIELD, "")):
        raise HttpError(
            403,
            "This form was made for another session, or the browser keeps no cookies. Nothing was done. "
            "Go back, load the page again, and send it once more.",
        )
    # Names of connectors neither begin nor end with spaces, and some forms take them away.
    if names_connector:
        require(request, fields.get("name", "").strip(), fields.get("name", ""))
    return fields


def fields_of(text: str) -> Mapping[str, str]:
    """Return the fields of a form's body, the last of each name. ValueError: it is none, or has too many."""
    parts = text.split("&", _FIELDS_MAX) if text else []
    if len(parts) > _FIELDS_MAX:
        raise ValueError(f"it has more than {_FIELDS_MAX} fields")
    for number, part in enumerate(parts, 1):
        if "=" not in part:
            raise ValueError(f"field {number} has no value")
    # In compiled code: urllib takes a tenth of a second of the worker's process for what a form may have of escapes.
    return dict(URL.build(query_string=text, encoded=True).query.items())


def _fits(cookie: str, given: str) -> bool:
    return _TOKEN.fullmatch(cookie) is not None and hmac.compare_digest(cookie.encode(), given.encode())


def once_of(form: Mapping[str, str]) -> str:
    """Return what tells this click from all others; empty where the form says nothing of the kind.

    All fields are part of it: the same page sent with another name or text is no second click. It has one length,
    whatever was sent, as it is kept.
    """
    if not form.get(ONCE):
        return ""
    return hashlib.sha256(json.dumps(sorted(form.items())).encode()).hexdigest()


class OnceOnly:
    """Carries out each form once: a second click gets the outcome of the first one. Owned by the event loop."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, asyncio.Future[Any]] = OrderedDict()

    async def run(self, once: str, act: Callable[[], Awaitable[T]]) -> T:
        """Do it, or wait for the one that does it now; return what it returned, or raise what it raised.

        `once` empty: do it anyhow.
        """
        if not once:
            return await act()
        known = self._known.get(once)
        if known is None:
            known = self._known[once] = asyncio.ensure_future(act())
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        try:
            done: T = await asyncio.shield(known)
        except Exception:
            # What failed, or was sent on to the leader, may be tried again.
            self._known.pop(once, None)
            raise
        return done
