"""Sends a request to the first of several servers that answers. It tries each once; the caller may try again."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from pydantic import SecretStr

from connect.api.errors import RetriableError
from connect.lib.deadline import Deadline
from connect.lib.http_client import Answer, HttpClient, NoAnswerError
from connect.lib.oauth.client_credentials import ClientCredentials, NoTokenError, TokenCache
from connect.lib.secrets import masked_setting

ANSWER_BYTES: Final = 64 << 20
TOO_BUSY: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""With these HTTP statuses a server may accept the same request later."""
_UNAUTHORIZED: Final = 401


@dataclass(frozen=True, slots=True)
class Peer:
    """Tells which servers are asked and how. `urls` have no slash at the end. `headers` may hold secrets."""

    urls: Sequence[str]
    timeout_s: float
    connect_timeout_s: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tls: ssl.SSLContext | None = None
    checks_host: bool = True
    proxy: str | None = field(default=None, repr=False)
    credentials: ClientCredentials | None = None
    """Each request carries a token that is got by these; None: it carries none."""


def basic_authorization(user: str, password: SecretStr | None) -> str:
    """Return the value of the header `Authorization`."""
    secret = password.get_secret_value() if password is not None else ""
    return f"Basic {base64.b64encode(f'{user}:{secret}'.encode()).decode()}"


def merged_headers(*parts: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of all parts, each once however its name is spelt; the last one counts."""
    found = {name.lower(): (name, value) for part in parts for name, value in part.items()}
    return dict(found.values())


def proxy_url(host: str, port: int, user: str = "", password: SecretStr | None = None) -> str | None:
    """Return the address of a proxy with its login; None if no host is given."""
    if not host:
        return None
    secret = quote(password.get_secret_value(), safe="") if password is not None else ""
    login = f"{quote(user, safe='')}:{secret}@" if user else ""
    return f"http://{login}{host}:{port}"


class Caller:
    """Keeps the connections to a peer. Owned by the task thread."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._first = 0
        self._client = HttpClient(
            timeout_s=peer.timeout_s,
            connect_timeout_s=peer.connect_timeout_s,
            tls=peer.tls,
            checks_host=peer.checks_host,
            proxy=peer.proxy,
            limit_bytes=ANSWER_BYTES,
        )
        self._tokens = TokenCache(peer.credentials, self._client) if peer.credentials is not None else None

    def ask(
        self,
        method: str,
        path: str,
        deadline: Deadline,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request, and return the answer with any status. Raise RetriableError if nobody answers in time."""
        reasons = []
        for _ in self._peer.urls:
            if deadline.expired:
                raise RetriableError("There was no time left to send the records.")
            url = self._peer.urls[self._first]
            try:
                return self._answer(method, url + path, merged_headers(self._peer.headers, headers or {}), body)
            except NoAnswerError as error:
                reasons.append(f"{masked_setting(url)}: {error.kind}: {error}")
                self._first = (self._first + 1) % len(self._peer.urls)
        raise RetriableError(f"Nobody answers: {'; '.join(reasons)}.")

    def _answer(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        if self._tokens is None:
            return self._client.ask(method, url, headers=headers, body=body)
        answer = self._client.ask(method, url, headers=merged_headers(headers, self._authorization()), body=body)
        if answer.status == _UNAUTHORIZED:
            # The token may have been withdrawn before its end.
            self._tokens.forget()
            answer = self._client.ask(method, url, headers=merged_headers(headers, self._authorization()), body=body)
        return answer

    def _authorization(self) -> Mapping[str, str]:
        assert self._tokens is not None
        try:
            return {"Authorization": f"Bearer {self._tokens.token()}"}
        except NoTokenError as error:
            raise RetriableError(
                f"The OAuth issuer {error}", fix="Check oauth2.* and that the issuer runs; the records wait."
            ) from None

    def close(self) -> None:
        """Close the connections. May be called twice."""
        self._client.close()
