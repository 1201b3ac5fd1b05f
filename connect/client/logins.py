"""Logs a person in at an OpenID Connect issuer by the device grant (RFC 8628), and renews the person's token.

The person's browser may run on another machine: the command shows an address and a code to type there, and asks the
issuer until the person has answered.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from connect.api.errors import ConnectError
from connect.lib.deadline import Deadline
from connect.lib.http_client import HttpClient, NoAnswerError, environment_proxy
from connect.runtime.settings.issuer_url import check_issuer_url

RENEWED_BEFORE_S: Final = 60.0
"""A token that ends in fewer seconds is renewed, as the command that uses it may run for a while."""
USUAL_SCOPE: Final = "openid profile offline_access"
TOKEN_KEYS: Final = frozenset({"token", "refresh_token", "token_expires_at"})
"""A context's entry has these keys from its last login."""
ENTRY_KEYS: Final = TOKEN_KEYS | {"issuer", "client_id", "scope", "login_parameters"}
"""A context's entry has these keys for logins."""
_TIMEOUT_S: Final = 30.0
_LONGEST_BYTES: Final = 1 << 20
_DEVICE_GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
_INTERVAL_S: Final = 5.0
"""RFC 8628 gives this interval if the issuer names none; it is also what `slow_down` adds."""
_TOKEN: Final = re.compile(r"[!-~]+")
_FORM_HEADERS: Final = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}


@dataclass(frozen=True, slots=True)
class Login:
    """Holds where a context's person logs in, and the tokens of the last login; each is empty if there is none.

    `expires_at_s` is the end of `token` as Unix time in seconds; None if the issuer did not tell it. `parameters` are
    further ones that an issuer asks for, such as Auth0's `audience`.
    """

    issuer: str
    client_id: str
    scope: str = USUAL_SCOPE
    parameters: Mapping[str, str] | None = None
    token: str = ""
    refresh_token: str = ""
    expires_at_s: float | None = None

    @classmethod
    def of_context(cls, entry: Mapping[str, str]) -> Login | None:
        """Return the login in a context's entry; None if nobody logged in with it. ConnectError: it is broken."""
        if not entry.get("issuer") or not entry.get("client_id"):
            return None
        try:
            parameters = json.loads(entry.get("login_parameters") or "{}")
            expires_at_s = float(entry["token_expires_at"]) if entry.get("token_expires_at") else None
        except ValueError as error:
            raise ConnectError(f"The login of this context cannot be read: {error}.", fix="connect login") from None
        return cls(
            entry["issuer"], entry["client_id"], entry.get("scope") or USUAL_SCOPE, parameters,
            entry.get("token", ""), entry.get("refresh_token", ""), expires_at_s,
        )  # fmt: skip

    def entry(self) -> dict[str, str]:
        """Return the members that a context's entry has for this login."""
        found = {
            "issuer": self.issuer, "client_id": self.client_id, "scope": self.scope, "token": self.token,
            "refresh_token": self.refresh_token,
            "login_parameters": json.dumps(dict(self.parameters)) if self.parameters else "",
            "token_expires_at": "" if self.expires_at_s is None else f"{self.expires_at_s:.0f}",
        }  # fmt: skip
        return {key: value for key, value in found.items() if value}

    def ends_soon(self, now_s: float) -> bool:
        """Return True if the token has to be renewed. A token whose end is not known is used until it is refused."""
        return not self.token or (self.expires_at_s is not None and self.expires_at_s - now_s < RENEWED_BEFORE_S)


@dataclass(frozen=True, slots=True)
class Invitation:
    """Tells a person where to log in. `complete_url` contains the code; it is empty if the issuer gave none."""

    url: str
    complete_url: str
    code: str
    expires_in_s: float


class Issuer:
    """Asks one issuer for tokens."""

    def __init__(self, login: Login) -> None:
        """Find the issuer's endpoints. ConnectError: the issuer does not answer, or its document names another one."""
        self._login = login
        self._address = _checked(login.issuer, "The issuer")
        self._http = HttpClient(
            timeout_s=_TIMEOUT_S, proxy=environment_proxy(self._address), limit_bytes=_LONGEST_BYTES
        )
        about = self._asked("GET", f"{self._address.rstrip('/')}/.well-known/openid-configuration")
        if about.get("issuer") != login.issuer:
            raise ConnectError(
                f"The discovery document of {login.issuer} names another issuer.",
                fix="Give --issuer as the issuer writes it, with or without a slash at its end.",
            )
        self._token_url = _checked(about.get("token_endpoint"), "The token_endpoint of the issuer")
        self._device_url = about.get("device_authorization_endpoint")

    def log_in(self, invite: Callable[[Invitation], None]) -> Login:
        """Invite a person, and return the login when the person has agreed. ConnectError: refused, or too late."""
        if not self._device_url:
            raise ConnectError(
                f"{self._login.issuer} has no device_authorization_endpoint: it lets nobody log in by a device code.",
                fix="Allow the device grant there, or name a variable with a token: connect context add --token-env",
            )
        device_url = _checked(self._device_url, "The device_authorization_endpoint")
        told = self._asked("POST", device_url, self._form(scope=self._login.scope))
        try:
            code, invitation, pause_s = str(told["device_code"]), _invitation(told), _seconds(told, "interval")
        except (KeyError, TypeError, ValueError) as error:
            raise ConnectError(f"{self._login.issuer} answered no invitation of RFC 8628: {error}.") from None
        invite(invitation)
        return self._wait_for_answer(code, invitation.expires_in_s, pause_s or _INTERVAL_S)

    def renew(self) -> Login:
        """Return the login with a new token, by its refresh token. ConnectError: the issuer refuses that token."""
        form = self._form(grant_type="refresh_token", refresh_token=self._login.refresh_token)
        return self._taken(self._asked("POST", self._token_url, form))

    def _wait_for_answer(self, code: str, within_s: float, pause_s: float) -> Login:
        deadline = Deadline.after(within_s)
        form = self._form(grant_type=_DEVICE_GRANT, device_code=code)
        while deadline.wait(pause_s):
            try:
                return self._taken(self._asked("POST", self._token_url, form))
            except _RefusedError as error:
                if error.code == "slow_down":
                    pause_s += _INTERVAL_S
                elif error.code != "authorization_pending":
                    raise
        raise ConnectError(f"Nobody logged in within {within_s:.0f} s.", fix="connect login")

    def _taken(self, told: Mapping[str, Any]) -> Login:
        token = told.get("access_token")
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            raise ConnectError(f"{self._login.issuer} answered without an access_token that a header can hold.")
        lasts_s = _seconds(told, "expires_in")
        return replace(
            self._login,
            token=token,
            refresh_token=str(told.get("refresh_token") or self._login.refresh_token),
            expires_at_s=time.time() + lasts_s if lasts_s else None,
        )

    def _form(self, **fields: str) -> str:
        return urlencode({"client_id": self._login.client_id, **(self._login.parameters or {}), **fields})

    def _asked(self, method: str, url: str, form: str | None = None) -> Mapping[str, Any]:
        try:
            answer = self._http.ask(method, url, headers=_FORM_HEADERS, body=form)
        except NoAnswerError as error:
            raise ConnectError(f"{self._login.issuer} does not answer: {error}.") from None
        try:
            told = json.loads(answer.data)
        except (ValueError, RecursionError):
            told = None
        if isinstance(told, dict) and isinstance(told.get("error"), str):
            raise _RefusedError(self._login.issuer, told["error"], str(told.get("error_description") or ""))
        if answer.status != HTTPStatus.OK or not isinstance(told, dict):
            what = "" if isinstance(told, dict) else ", and no JSON object"
            raise ConnectError(f"{self._login.issuer} answered HTTP {answer.status}{what}.")
        return told


class _RefusedError(ConnectError):
    """Says that the issuer refused the login; `code` is the error code of RFC 6749 or RFC 8628."""

    def __init__(self, issuer: str, code: str, description: str) -> None:
        says = f": {description.rstrip('.')}" if description else ""
        super().__init__(f"{issuer} refused the login ({code}){says}.", fix="connect login")
        self.code = code


def _checked(url: object, what: str) -> str:
    try:
        return check_issuer_url(str(url or ""))
    except ValueError as error:
        raise ConnectError(f"{what}, {url!r}, cannot be used: {error}.") from None


def _invitation(told: Mapping[str, Any]) -> Invitation:
    url, code = _checked(told["verification_uri"], "The verification_uri"), told["user_code"]
    if not isinstance(code, str) or not (url + code).isprintable():
        raise ValueError("its verification_uri or user_code is no text that can be shown")
    complete = str(told.get("verification_uri_complete") or "")
    is_there = complete.isprintable() and complete.startswith(url) and urlsplit(complete)[:2] == urlsplit(url)[:2]
    return Invitation(url, complete if is_there else "", code, _seconds(told, "expires_in") or 300)


def _seconds(told: Mapping[str, Any], name: str) -> float:
    """Return a number of seconds, at most a day; 0 if it is missing or no number."""
    try:
        found = float(str(told.get(name)))
    except ValueError:
        return 0.0
    return 0.0 if math.isnan(found) else min(max(found, 0.0), 86_400.0)
