"""Gets tokens from an OAuth issuer for requests to a schema registry, by client credentials (RFC 6749, 4.4).

Source of the settings: io.confluent.kafka.schemaregistry.client.SchemaRegistryClientConfig 8.3.
"""

from __future__ import annotations

import base64
import re
import time
from typing import Any, Final, TypeGuard
from urllib.parse import quote_plus, urlencode

import orjson

from connect.api.errors import RetriableError
from connect.convert.registry.config import RegistryConfig
from connect.lib.http_client import HttpClient, NoAnswerError

_ISSUER: Final = "bearer.auth.issuer.endpoint.url"
_TRANSIENT: Final = frozenset({408, 429, 500, 502, 503, 504})
_TOKEN: Final = re.compile(r"[!-~]{1,65536}")
"""Fits what a header can carry; anything else in a token would be a header of the issuer's own."""
_LONGEST_S: Final = 366 * 86400.0
_REASONS: Final = ("error", "error_description")
_SHOWN_CHARS: Final = 300


class TokenRefusedError(RetriableError):
    """Says that the issuer gives this worker no token. It is retriable, as it is never the fault of rows."""


class OAuthTokens:
    """Keeps the token in use, and asks for another one before it ends. Owned by one task thread."""

    def __init__(self, config: RegistryConfig, client: HttpClient) -> None:
        assert config.bearer_client_secret is not None, "checked by RegistryConfig"
        self._issuer, self._shown = config.bearer_issuer, config.bearer_issuer.shown
        self._form = {"grant_type": "client_credentials"} | (
            {"scope": config.bearer_scope} if config.bearer_scope else {}
        )
        secret = config.bearer_client_secret.get_secret_value()
        # RFC 6749, 2.3.1: both parts are form-encoded before they are joined.
        login = f"{quote_plus(config.bearer_client_id)}:{quote_plus(secret)}"
        self._authorization = f"Basic {base64.b64encode(login.encode()).decode()}"
        self._client = client
        self._spare_s = config.bearer_expiry_buffer_s
        self._token = ""
        self._until_s = 0.0

    def token(self) -> str:
        """Return a token that is good for a while. RetriableError when the issuer gives none."""
        if not self._token or time.monotonic() >= self._until_s:
            answer = self._asked()
            self._token = answer["access_token"]
            lasts_s = _lifetime_s(answer)
            # A token that lasts for less than the buffer is used for half of its life.
            self._until_s = time.monotonic() + max(lasts_s - self._spare_s, lasts_s / 2)
        return self._token

    def forget(self) -> None:
        """Forget the token, as the registry refused it; the next request asks for another one."""
        self._token = ""

    def _asked(self) -> dict[str, Any]:
        headers = {"Authorization": self._authorization, "Content-Type": "application/x-www-form-urlencoded",
                   "Accept": "application/json"}  # fmt: skip
        try:
            answer = self._client.ask("POST", self._issuer, headers=headers, body=urlencode(self._form))
        except NoAnswerError as error:
            raise RetriableError(
                f"The OAuth issuer {self._shown} of the schema registry does not answer ({error.kind}).",
                key=_ISSUER, fix="Check the address and that the issuer runs.",
            ) from None  # fmt: skip
        if answer.status in _TRANSIENT:
            raise RetriableError(f"The OAuth issuer {self._shown} failed with HTTP {answer.status}.", key=_ISSUER)
        found = _parsed(answer.data)
        token = found.get("access_token")
        if answer.status >= 300 or not isinstance(token, str) or not _TOKEN.fullmatch(token):
            said = " ".join(str(found[name])[:_SHOWN_CHARS] for name in _REASONS if name in found)
            raise TokenRefusedError(
                f"The OAuth issuer {self._shown} gives no token: HTTP {answer.status} {said}".rstrip() + ".",
                key=_ISSUER, fix="Check bearer.auth.client.id, bearer.auth.client.secret and bearer.auth.scope.",
            )  # fmt: skip
        return found


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _lifetime_s(answer: dict[str, Any]) -> float:
    """Return the seconds that the answer says, else those of the token itself (RFC 7519's `exp`), else a minute."""
    lasts_s = answer.get("expires_in")
    if not _is_lifetime(lasts_s):
        parts = answer["access_token"].split(".")
        try:
            claims = orjson.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
            lasts_s = max(0.0, claims["exp"] - time.time())
        except (IndexError, ValueError, KeyError, TypeError):
            return 60.0
    return lasts_s if _is_lifetime(lasts_s) else 60.0


def _is_lifetime(given: object) -> TypeGuard[float]:
    """Tell a number of seconds that a token can last from other values, such as those that are no number or endless."""
    return isinstance(given, int | float) and 0 <= given <= _LONGEST_S
