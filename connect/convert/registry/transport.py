"""Sends HTTP to a schema registry: decides the address, credentials, certificates and retries.

Knows nothing of schemas.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

from pydantic import BaseModel, TypeAdapter

from connect.api.errors import ConnectError, RetriableError
from connect.api.tls.client_tls import checks_host, client_tls
from connect.convert.registry.config import RegistryConfig
from connect.convert.registry.oauth import OAuthTokens, TokenRefusedError
from connect.lib.backoff import delays_s
from connect.lib.deadline import Deadline
from connect.lib.http_client import Answer, HttpClient, NoAnswerError

_MEDIA_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_RETRIED: Final = frozenset({408, 429, 500, 502, 503, 504})
_NOT_FOUND: Final = frozenset({40401, 40402, 40403})
"""Error codes of Confluent's registry for no such subject, version or schema; any other 404 is of something else."""
_ANSWER_BYTES: Final = 16 << 20
_PREFIX: Final = "schema.registry."
_SHOWN_CHARS: Final = 4000
T = TypeVar("T")


class _Refusal(BaseModel):
    error_code: int
    message: str


_REFUSAL: Final = TypeAdapter(_Refusal)


class RegistryError(ConnectError):
    """Says that the registry refused a request, with its HTTP status, its `error_code` and its message."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class RegistryUnusableError(RetriableError):
    """Says that the registry does not serve this worker: the credentials are wrong, or it is no registry at all.

    It is retriable, as it is never the fault of rows, which must not become dead letters. Trying again at once does
    not help.
    """


class Transport:
    """Sends requests to the first address that answers. Owned by one task thread."""

    def __init__(self, config: RegistryConfig) -> None:
        urls = [url.rstrip("/") for url in config.url]
        if config.url_randomize:
            random.shuffle(urls)
        self._addresses = [without_user(url) for url in urls]
        self._attempts = config.max_retries + 1
        self._wait_s = config.retries_wait_ms / 1000, config.retries_max_wait_ms / 1000
        self._client = _client(config)
        self._headers = {"Accept": f"{_MEDIA_TYPE}, application/json", "Content-Type": _MEDIA_TYPE}
        self._headers |= config.with_prefix("request.header.")
        self._authorizations = [_authorization(config, url) for url in urls]
        self._tokens = OAuthTokens(config, self._client) if config.bearer_source == "OAUTHBEARER" else None
        if self._tokens is not None or config.bearer_token is not None:
            own = {"target-sr-cluster": config.bearer_logical_cluster,
                   "Confluent-Identity-Pool-Id": config.bearer_identity_pool}  # fmt: skip
            self._headers |= {name: value for name, value in own.items() if value}

    def call(self, method: str, path: str, kind: TypeAdapter[T], body: Mapping[str, Any] | None = None) -> T:
        """Return an answer of type `kind`. Raise RegistryError if it refuses, RetriableError if no address answers."""
        first_s, most_s = self._wait_s
        for wait_s in islice(delays_s(most_s, initial_s=first_s), self._attempts - 1):
            try:
                return self._once(method, path, kind, body)
            except RetriableError as error:
                if not _may_pass(error):
                    raise
                Deadline.after(wait_s).wait(wait_s)
        return self._once(method, path, kind, body)

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _once(self, method: str, path: str, kind: TypeAdapter[T], body: Mapping[str, Any] | None) -> T:
        reasons = []
        for address, authorization in zip(self._addresses, self._authorizations, strict=True):
            try:
                answer = self._answer(method, address + path, body, authorization)
            except NoAnswerError as error:
                reasons.append(f"{address}: {error.kind}: {error}")
                continue
            if answer.status not in _RETRIED or _is_verdict(answer):
                return _parsed(answer, address, kind)
            reasons.append(f"{address}: HTTP {answer.status} {answer.data[:200].decode(errors='replace')}")
        tried = f"{self._attempts} tries" if self._attempts > 1 else "one try"
        raise RetriableError(
            f"The schema registry does not answer ({tried}): {'; '.join(reasons)}.",
            key="schema.registry.url",
            fix="Check schema.registry.url and that the registry runs.",
        )

    def _answer(self, method: str, url: str, body: Mapping[str, Any] | None, authorization: str | None) -> Answer:
        data = None if body is None else json.dumps(body).encode()
        if self._tokens is None:
            own = {"Authorization": authorization} if authorization else {}
            return self._client.ask(method, url, headers={**self._headers, **own}, body=data)
        for _ in range(2):
            headers = {**self._headers, "Authorization": f"Bearer {self._tokens.token()}"}
            answer = self._client.ask(method, url, headers=headers, body=data)
            if answer.status != 401:
                break
            # The token may have been withdrawn before its end.
            self._tokens.forget()
        return answer


def _may_pass(error: Exception) -> bool:
    return isinstance(error, RetriableError) and not isinstance(error, RegistryUnusableError | TokenRefusedError)


def _is_verdict(answer: Answer) -> bool:
    """Tell if this is a 500 with an error code of the registry's own about the request, not about its state."""
    return answer.status == 500 and 40000 <= _error_body(answer)[0] < 50000


def _error_body(answer: Answer) -> tuple[int, str]:
    try:
        told = _REFUSAL.validate_json(answer.data)
    except ValueError:
        return answer.status, answer.data[:300].decode(errors="replace")
    return told.error_code, told.message[:_SHOWN_CHARS]


def _parsed(answer: Answer, address: str, kind: TypeAdapter[T]) -> T:
    if answer.status in {401, 403}:
        word = "who this is (401)" if answer.status == 401 else "this user the right (403)"
        raise RegistryUnusableError(
            f"The schema registry at {address} does not grant {word}.", key="basic.auth.user.info",
            fix="Set basic.auth.credentials.source=USER_INFO and basic.auth.user.info, or the keys bearer.auth.*, or "
            "ask for the right.",
        )  # fmt: skip
    code, message = _error_body(answer)
    if answer.status in {409, 422, 500} or code in _NOT_FOUND:
        raise RegistryError(answer.status, code, message)
    try:
        if answer.status < 300:
            return kind.validate_json(answer.data)
    except ValueError:
        pass  # told below
    raise RegistryUnusableError(
        f"What answers at {address} is no schema registry: HTTP {answer.status} {answer.data[:100]!r}.",
        key="schema.registry.url", fix="Give the address of its API; Apicurio's ends in /apis/ccompat/v7.",
    )  # fmt: skip


def _authorization(config: RegistryConfig, url: str) -> str | None:
    if config.bearer_token is not None:
        return f"Bearer {config.bearer_token.get_secret_value()}"
    if config.credentials_source == "USER_INFO":
        info = config.user_info
        assert info is not None, "checked by RegistryConfig"
        return _basic(info.get_secret_value())
    parts = urlsplit(url)
    return _basic(f"{unquote(parts.username)}:{unquote(parts.password or '')}") if parts.username else None


def _basic(user_info: str) -> str:
    return f"Basic {base64.b64encode(user_info.encode()).decode()}"


def without_user(url: str) -> str:
    """Return an address without user and password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _client(config: RegistryConfig) -> HttpClient:
    given = {**config.with_prefix("ssl."), **config.with_prefix(f"{_PREFIX}ssl.")}
    return HttpClient(
        timeout_s=config.read_timeout_ms / 1000,
        connect_timeout_s=config.connect_timeout_ms / 1000,
        tls=client_tls(given, config.allowed, f"{_PREFIX}ssl.", "the schema registry"),
        checks_host=checks_host(given),
        proxy=f"http://{config.proxy_host}:{config.proxy_port}" if config.proxy_host else None,
        limit_bytes=_ANSWER_BYTES,
    )
