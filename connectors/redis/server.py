"""Sends commands to Redis by the library of its makers, and accepts only answers that such commands can have.

It uses RESP2. With RESP3 a server may send messages at any time, and one of these can make the library go on at another
host, with the login.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connectors.redis.commands import Command
from connectors.redis.config import Target

if TYPE_CHECKING:
    import redis
    from redis.connection import Connection

_CONNECT_S: Final = 10.0
_ANSWER_BYTES: Final = 16 << 20
"""An answer may have so many bytes. That of a sink's request has a few for each command, or the line of an error."""
_SHOWN_CHARS: Final = 300
_FOR_NOW: Final = ("BUSY ", "MISCONF ", "NOREPLICAS ")
"""Errors that begin with these pass by themselves; the library has no class for them."""
_OK: Final = re.compile(rb"OK|PONG")
_STREAM_ID: Final = re.compile(rb"\d+-\d+")


class RedisServer:
    """Keeps the connection to a server. Owned by the task thread."""

    def __init__(self, target: Target) -> None:
        self._where = f"Redis at {target.host}:{target.port}"
        self._client = _client(target)

    def send(self, commands: Sequence[Command]) -> list[ConnectError | None]:
        """Send commands. Return for each the error for which it was refused, or None if it was carried out.

        Raise RetriableError if the server is away, still starts, is out of memory or takes no writes, ConfigError if it
        refuses the user, and ConnectError if no Redis answers.
        """
        from redis import exceptions as e

        answers = self._answers(commands)
        for answer in answers:
            if isinstance(answer, e.AuthenticationError | e.NoPermissionError):
                raise ConfigError(f"{self._where} refuses access: {_shown(answer)}", key="redis.password")
            if isinstance(
                answer, e.ConnectionError | e.OutOfMemoryError | e.ReadOnlyError | e.TryAgainError | e.ClusterDownError
            ) or (isinstance(answer, e.ResponseError) and str(answer).startswith(_FOR_NOW)):
                raise RetriableError(f"{self._where} cannot do that for now: {_shown(answer)}.")
        for command, answer in zip(commands, answers, strict=True):
            if not isinstance(answer, e.RedisError) and not _is_done(answer):
                raise self._no_redis(f"it answers {command[0]!s} with {_shown(repr(answer))}")
        return [
            ConnectError(f"Redis refused it: {_shown(a)}.") if isinstance(a, e.RedisError) else None for a in answers
        ]

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def _answers(self, commands: Sequence[Command]) -> list[Any]:
        """Return the server's answer to each command; an error is returned as an answer."""
        from redis import exceptions as e

        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)  # type: ignore[no-untyped-call]  # redis declares no types for this method
        try:
            return pipeline.execute(raise_on_error=False)
        except (e.AuthenticationError, e.NoPermissionError) as error:
            raise ConfigError(f"{self._where} refuses access: {_shown(error)}", key="redis.password") from None
        except (e.ConnectionError, e.TimeoutError, OSError) as error:
            raise RetriableError(f"{self._where} does not answer ({type(error).__name__}: {_shown(error)}).") from None
        except (e.RedisError, ValueError, TypeError, OverflowError, RecursionError) as error:
            # The library would read the rest of such an answer as the answers to the next commands.
            self._client.connection_pool.disconnect()
            raise self._no_redis(f"{type(error).__name__}: {_shown(error)}") from None

    def _no_redis(self, why: str) -> ConnectError:
        return ConnectError(
            f"What answers as {self._where} is no Redis ({why}).",
            fix="Check the address, and what is on the way there.",
        )


def _client(target: Target) -> redis.Redis:
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    tls: dict[str, Any] = {}
    if target.tls:
        tls = {
            "ssl_ca_certs": target.certificates,
            "ssl_cert_reqs": "required" if target.checks_host else "none",
            "ssl_check_hostname": target.checks_host,
        }
    pool = redis.ConnectionPool(
        connection_class=_bounded(redis.SSLConnection if target.tls else redis.Connection, target.timeout_s),
        host=target.host,
        port=target.port,
        db=target.database,
        username=target.username or None,
        password=target.password or None,
        protocol=2,
        socket_timeout=target.timeout_s,
        socket_connect_timeout=min(target.timeout_s, _CONNECT_S),
        retry=Retry(NoBackoff(), 0),  # the framework tries again, with its own waits
        **tls,
    )
    client = redis.Redis.from_pool(pool)
    client.response_callbacks.clear()  # these would turn wrong answers into True
    return client


def _bounded(kind: type[Connection], whole_s: float) -> type[Connection]:
    """Return a class of connections that read the answers to one request for at most `whole_s` seconds."""

    class Bounded(kind):  # type: ignore[valid-type, misc]  # mypy takes no base class from a variable
        def _connect(self) -> Any:
            return _BoundedSocket(super()._connect(), whole_s)

    return Bounded


class _BoundedSocket:
    """Limits the bytes and the time that a socket reads for the answers to the last request."""

    def __init__(self, connected: socket.socket, whole_s: float) -> None:
        self._socket = connected
        self._whole_s = whole_s
        self._end_s = time.monotonic() + whole_s
        self._left_bytes = _ANSWER_BYTES

    def sendall(self, data: bytes) -> None:
        self._socket.sendall(data)
        self._end_s = time.monotonic() + self._whole_s
        self._left_bytes = _ANSWER_BYTES

    def recv(self, size: int) -> bytes:
        if time.monotonic() > self._end_s:
            raise TimeoutError(f"The answer took longer than {self._whole_s:g} s")
        if self._left_bytes <= 0:
            raise OSError(f"The answer is longer than {_ANSWER_BYTES >> 20} MiB")
        data = self._socket.recv(size)
        self._left_bytes -= len(data)
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


def _is_done(answer: object) -> bool:
    """Return True if a command was carried out: Redis answers OK, a number of elements, or the id of an entry."""
    match answer:
        case bool():
            return False
        case int():
            return answer >= 0
        case bytes():
            return bool(_OK.fullmatch(answer) or _STREAM_ID.fullmatch(answer))
    return False


def _shown(answer: object) -> str:
    return str(answer)[:_SHOWN_CHARS]
