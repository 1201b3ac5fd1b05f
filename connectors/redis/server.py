"""Sends commands to Redis by the library of its makers, and accepts only answers that such commands can have.

It uses RESP2. With RESP3 a server may send messages at any time, and one of these can make the library go on at another
host, with the login.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
_BEGIN: Final[Command] = ("MULTI",)
_END: Final[Command] = ("EXEC",)
_OK: Final = re.compile(rb"OK|PONG")
_STREAM_ID: Final = re.compile(rb"\d+-\d+")


class RedisServer:
    """Keeps the connection to a server. Owned by the task thread."""

    def __init__(self, target: Target) -> None:
        self._where = f"Redis at {target.host}:{target.port}"
        self._client = _client(target)

    def send(self, commands: Sequence[Command], answered: list[ConnectError | None]) -> None:
        """Send commands, and append for each in order the error for which it was refused, or None if it was carried
        out.

        Raise RetriableError if the server is away, still starts, is out of memory or takes no writes, ConfigError if it
        refuses the user, and ConnectError if no Redis answers. The commands before the one of which that is told are
        in `answered` then.
        """
        later: RetriableError | None = None
        with self._connected() as connection:
            connection.send_packed_command(connection.pack_commands(commands))
            for command in commands:
                answer = _answer(connection)
                if later is None:
                    try:
                        answered.append(self._judged(command, answer))
                    except RetriableError as error:
                        later = error  # the other answers are read, so that the next commands get their own
        if later is not None:
            raise later

    def send_together(self, commands: Sequence[Command], answered: list[ConnectError | None]) -> None:
        """Do as `send`, in a transaction: where its answer is lost, Redis carried out all of the commands or none.

        A server without transactions, and one whose user may not use them, gets the commands one by one.
        """
        from redis import exceptions as e

        with self._connected() as connection:
            begun = _said(connection, [_BEGIN])[0]
            if isinstance(begun, e.NoPermissionError) or self._judged(_BEGIN, begun) is not None:
                queued, done = None, None
            else:
                *queued, done = _said(connection, [*commands, _END])
        if queued is None:
            self.send(commands, answered)
            return
        errors = [pair for pair in zip(commands, queued, strict=True) if isinstance(pair[1], e.RedisError)]
        refused = self._judged(*errors[0]) if errors else None
        if isinstance(done, list) and len(done) == len(commands) and all(answer == b"QUEUED" for answer in queued):
            for pair in zip(commands, done, strict=True):
                answered.append(self._judged(*pair))  # noqa: PERF401 - those before an error have to be kept
        elif not isinstance(done, e.ExecAbortError):
            self._judged(_END, done)
            raise self._no_redis(f"it answers EXEC with {_shown(repr(done))}")
        elif refused is None:
            raise RetriableError(f"{self._where} cannot do that for now: {_shown(done)}.")
        elif len(commands) == 1:
            answered.append(refused)
        else:
            # Redis carries out none of them where it refuses one at once; halves find it, in order.
            half = len(commands) // 2
            self.send_together(commands[:half], answered)
            self.send_together(commands[half:], answered)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Lend the connection. It is ended where a step fails, as the next commands would get answers to these."""
        from redis import exceptions as e

        pool = self._client.connection_pool
        try:
            connection: Any = pool.get_connection()  # redis declares no types for its methods
            try:
                yield connection
            except BaseException:
                connection.disconnect()
                raise
            finally:
                pool.release(connection)
        except (e.AuthenticationError, e.NoPermissionError) as error:
            raise ConfigError(f"{self._where} refuses access: {_shown(error)}", key="redis.password") from None
        except (e.ConnectionError, e.TimeoutError, OSError) as error:
            raise RetriableError(f"{self._where} does not answer ({type(error).__name__}: {_shown(error)}).") from None
        except (e.RedisError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise self._no_redis(f"{type(error).__name__}: {_shown(error)}") from None

    def _judged(self, command: Command, answer: object) -> ConnectError | None:
        """Return what `send` appends for an answer, or raise what it raises."""
        from redis import exceptions as e

        if isinstance(answer, e.AuthenticationError | e.NoPermissionError):
            raise ConfigError(f"{self._where} refuses access: {_shown(answer)}", key="redis.password")
        if isinstance(
            answer, e.ConnectionError | e.OutOfMemoryError | e.ReadOnlyError | e.TryAgainError | e.ClusterDownError
        ) or (isinstance(answer, e.ResponseError) and str(answer).startswith(_FOR_NOW)):
            raise RetriableError(f"{self._where} cannot do that for now: {_shown(answer)}.")
        if isinstance(answer, e.RedisError):
            return ConnectError(f"Redis refused it: {_shown(answer)}.")
        if not _is_done(answer):
            raise self._no_redis(f"it answers {command[0]!s} with {_shown(repr(answer))}")
        return None

    def _no_redis(self, why: str) -> ConnectError:
        return ConnectError(
            f"What answers as {self._where} is no Redis ({why}).",
            fix="Check the address, and what is on the way there.",
        )


def _said(connection: Any, commands: Sequence[Command]) -> list[Any]:
    """Send commands, and return the answer to each; an error is returned as an answer."""
    connection.send_packed_command(connection.pack_commands(commands))
    return [_answer(connection) for _ in commands]


def _answer(connection: Any) -> Any:
    from redis.exceptions import ResponseError

    try:
        return connection.read_response()
    except ResponseError as error:
        return error


def _client(target: Target) -> redis.Redis:
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    pool = redis.ConnectionPool(
        connection_class=_bounded(redis.Connection, target.timeout_s, _tls(target)),
        host=target.host,
        port=target.port,
        db=target.database,
        username=target.username or None,
        password=target.password or None,
        protocol=2,
        socket_timeout=target.timeout_s,
        socket_connect_timeout=min(target.timeout_s, _CONNECT_S),
        retry=Retry(NoBackoff(), 0),  # the framework tries again, with its own waits
    )
    client = redis.Redis.from_pool(pool)
    client.response_callbacks.clear()  # these would turn wrong answers into True
    return client


def _tls(target: Target) -> ssl.SSLContext | None:
    """Return what TLS is spoken by. The library's own would trust the system's authorities beside those of the file."""
    if not target.tls:
        return None
    try:
        context = ssl.create_default_context(cafile=target.certificates)
    except OSError as error:
        raise ConfigError(f"The file {target.certificates} cannot be used: {error}.") from None
    if not target.checks_host:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _bounded(kind: type[Connection], whole_s: float, tls: ssl.SSLContext | None) -> type[Connection]:
    """Return a class of connections that read the answers to one request for at most `whole_s` seconds."""

    class Bounded(kind):  # type: ignore[valid-type, misc]  # mypy takes no base class from a variable
        def _connect(self) -> Any:
            connected = super()._connect()
            if tls is not None:
                try:
                    connected = tls.wrap_socket(connected, server_hostname=self.host)
                except OSError:
                    connected.close()
                    raise
            return _BoundedSocket(connected, whole_s)

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
