"""Protects forms of pages by a token that only pages of the worker can read, and carries out each form once.

The token is in a cookie and in the form. A page of another site can have a form sent with the cookie, but cannot read
the token. No worker stores tokens, so each worker accepts forms of pages that another worker has made.
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
"""This field has a value that no other form has."""
_COOKIE: Final = "connect-ui"
_TOKEN: Final = re.compile(r"[\w-]{43}", re.ASCII)
_MADE: Final = web.RequestKey("form_token", str)
_FIELDS_MAX: Final = 50
_KEPT: Final = 1000


def token_of(request: web.Request) -> str:
    """Return the browser's token, or a new one if it has none."""
    known = request.cookies.get(_COOKIE, "")
    if _TOKEN.fullmatch(known):
        return known
    if _MADE not in request:
        request[_MADE] = secrets.token_urlsafe(32)
    return request[_MADE]


def keep_token(request: web.Request, response: web.Response) -> None:
    """Send the browser the token that was made for it, if it had none."""
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
    # No connector's name begins or ends with spaces, and some forms remove them.
    if names_connector:
        require(request, fields.get("name", "").strip(), fields.get("name", ""))
    return fields


def fields_of(text: str) -> Mapping[str, str]:
    """Return the fields of a form's body; of several fields with one name, the last. ValueError: it is no form's body,
    or has too many fields.
    """
    parts = text.split("&", _FIELDS_MAX) if text else []
    if len(parts) > _FIELDS_MAX:
        raise ValueError(f"it has more than {_FIELDS_MAX} fields")
    for number, part in enumerate(parts, 1):
        if "=" not in part:
            raise ValueError(f"field {number} has no value")
    # yarl decodes escapes in compiled code. A form may have so many that urllib would take a tenth of a second of the
    # worker.
    return dict(URL.build(query_string=text, encoded=True).query.items())


def _fits(cookie: str, given: str) -> bool:
    return _TOKEN.fullmatch(cookie) is not None and hmac.compare_digest(cookie.encode(), given.encode())


def once_of(form: Mapping[str, str]) -> str:
    """Return a value that identifies this click, to notice a second one; empty if the form has no field for it.

    The value is a hash of all fields: the same page sent with another name or text is no second click. A hash has the
    same length whatever was sent, so the remembered values stay small.
    """
    if not form.get(ONCE):
        return ""
    return hashlib.sha256(json.dumps(sorted(form.items())).encode()).hexdigest()


class OnceOnly:
    """Carries out each form once: a second click gets the outcome of the first one. It is owned by the event loop."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, asyncio.Future[Any]] = OrderedDict()

    async def run(self, once: str, act: Callable[[], Awaitable[T]]) -> T:
        """Call `act`, or wait for the call of the same click that runs now. Return what it returned, or raise what it
        raised.

        An empty `once` identifies no click: `act` is always called.
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
            # A click that failed, or that was forwarded to the leader, may be tried again.
            self._known.pop(once, None)
            raise
        return done
