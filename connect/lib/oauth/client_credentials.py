"""Gets tokens from an OAuth issuer by client credentials (RFC 6749, 4.4), each kept until shortly before it ends."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard
from urllib.parse import quote_plus, urlencode

import orjson

from connect.lib.http_client import HttpClient, NoAnswerError

_TRANSIENT: Final = frozenset({408, 429, 500, 502, 503, 504})
_TOKEN: Final = re.compile(r"[!-~]{1,65536}")
"""Fits what a header can carry; anything else in a token would be a header of the issuer's own."""
_LONGEST_S: Final = 366 * 86400.0
_REASONS: Final = ("error", "error_description")
_SHOWN_CHARS: Final = 300
DEFAULT_SPARE_S: Final = 30.0


class NoTokenError(Exception):
    """Says that an issuer gave no token. `is_refusal`: it will give none to this client, however often it is asked."""

    def __init__(self, message: str, *, is_refusal: bool) -> None:
        super().__init__(message)
        self.is_refusal = is_refusal


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """Tells who asks which issuer for tokens. `shown` is the issuer's address without secrets.

    `in_header`: id and secret are sent in the header Authorization, else in the request's form. `property` names the
    member of the answer that is the token. A token is given up `spare_s` seconds before it ends.
    """

    issuer: str
    shown: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""
    in_header: bool = True
    property: str = "access_token"
    spare_s: float = DEFAULT_SPARE_S
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class TokenCache:
    """Keeps the token in use, and asks for another one before it ends. Owned by one thread."""

    def __init__(self, credentials: ClientCredentials, client: HttpClient) -> None:
        self._credentials, self._client = credentials, client
        self._token = ""
        self._until_s = 0.0

    def token(self) -> str:
        """Return a token that is good for a while. NoTokenError: the issuer gives none."""
        if not self._token or time.monotonic() >= self._until_s:
            answer = self._asked()
            self._token = answer[self._credentials.property]
            lasts_s = _lifetime_s(answer, self._token)
            # A token that lasts for less than the spare time is used for half of its life.
            self._until_s = time.monotonic() + max(lasts_s - self._credentials.spare_s, lasts_s / 2)
        return self._token

    def forget(self) -> None:
        """Forget the token, as a server refused it; the next request asks for another one."""
        self._token = ""

    def _asked(self) -> dict[str, Any]:
        own = self._credentials
        form = {"grant_type": "client_credentials"} | ({"scope": own.scope} if own.scope else {})
        headers = {**own.headers, "Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        if own.in_header:
            # RFC 6749, 2.3.1: both parts are form-encoded before they are joined.
            login = f"{quote_plus(own.client_id)}:{quote_plus(own.client_secret)}"
            headers["Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
        else:
            form |= {"client_id": own.client_id, "client_secret": own.client_secret}
        try:
            answer = self._client.ask("POST", own.issuer, headers=headers, body=urlencode(form))
        except NoAnswerError as error:
            raise NoTokenError(f"{own.shown} does not answer ({error.kind}).", is_refusal=False) from None
        if answer.status in _TRANSIENT:
            raise NoTokenError(f"{own.shown} failed with HTTP {answer.status}.", is_refusal=False)
        found = _parsed(answer.data)
        token = found.get(own.property)
        if answer.status >= 300 or not isinstance(token, str) or not _TOKEN.fullmatch(token):
            said = " ".join(str(found[name])[:_SHOWN_CHARS] for name in _REASONS if name in found)
            raise NoTokenError(
                f"{own.shown} gives no token: HTTP {answer.status} {said}".rstrip() + ".", is_refusal=True
            )
        return found


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _lifetime_s(answer: dict[str, Any], token: str) -> float:
    """Return the seconds that the answer says, else those of the token itself (RFC 7519's `exp`), else a minute."""
    lasts_s = answer.get("expires_in")
    if not _is_lifetime(lasts_s):
        parts = token.split(".")
        try:
            claims = orjson.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
            lasts_s = max(0.0, claims["exp"] - time.time())
        except (IndexError, ValueError, KeyError, TypeError):
            return 60.0
    return lasts_s if _is_lifetime(lasts_s) else 60.0


def _is_lifetime(given: object) -> TypeGuard[float]:
    """Tell a number of seconds that a token can last from other values, such as those that are no number or endless."""
    return isinstance(given, int | float) and 0 <= given <= _LONGEST_S
