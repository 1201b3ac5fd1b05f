"""A server of Redis that lies, never ends, or leads elsewhere gets an error; no login and no row follows it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pyarrow as pa
import pytest
from hostile_redis import Answer, Command, Handler, HostileRedis, hostile_redis
from hostile_texts import ANSI, MIB
from running_server import running

from connect.api.errors import ConnectError, RejectedRowsError, RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.redis.config import RedisSinkConfig
from connectors.redis.sink import RedisSinkTask

pytestmark = pytest.mark.attacks

SECRET = "Kx7-redis-9Qz"
TP = TopicPartition("orders", 0)
TIMEOUT_S = 1
SLACK_S = 30.0
LONGEST_TEXT = 2000
OK = b"+OK\r\n"
HELLO = b"%1\r\n+proto\r\n:3\r\n"
WRITES = {b"SET", b"HSET", b"XADD", b"RPUSH", b"SADD", b"DEL"}


def batch() -> Batch:
    consumed = Consumed(TP, pa.array(range(3), pa.int64()), 3)
    return Batch(
        "orders", Column.from_rows([{"a": 1}] * 3, None), Column.from_rows(["a", "b", "c"], None), consumed=consumed
    )


def task_on(server: HostileRedis, command: str) -> RedisSinkTask:
    uri = f"redis://me:{SECRET}@127.0.0.1:{server.port}/0"
    task = RedisSinkTask(
        RedisSinkConfig.parse({"redis.uri": uri, "redis.command": command, "redis.timeout": str(TIMEOUT_S)})
    )
    task.open(FakeSinkContext())
    return task


def lying(lie: Callable[[Handler], None]) -> Answer:
    """Sign a client in as Redis does, and answer its writes by a lie."""

    def answer(to: Handler, command: Command) -> None:
        if command[0] in WRITES:
            lie(to)
        else:
            to.wfile.write(HELLO if command[0] == b"HELLO" else OK)

    return answer


def say(data: bytes) -> Callable[[Handler], None]:
    return lambda to: to.wfile.write(data)  # type: ignore[return-value]  # the size that was written is of no use


def drip(first: bytes) -> Callable[[Handler], None]:
    def answer(to: Handler) -> None:
        to.wfile.write(first)
        while not to.server.over.wait(0.05):
            to.wfile.write(b" ")

    return answer


def endless(first: bytes, part: bytes) -> Callable[[Handler], None]:
    def answer(to: Handler) -> None:
        to.wfile.write(first)
        while not to.server.over.is_set():
            to.wfile.write(part)

    return answer


def moving(host: str) -> bytes:
    """Return the push by which a server of RESP3 tells its clients to go on at another host."""
    place = f"{host}:6379".encode()
    return b">4\r\n$6\r\nMOVING\r\n:1\r\n:20\r\n$%d\r\n%b\r\n" % (len(place), place)


ENDLESS = {
    "a line that drips": drip(b"+"), "bytes that drip": drip(b"$1000000000\r\n"),
    "2^31 bytes": endless(b"$2147483647\r\n", b" " * MIB), "a line": endless(b"+", b" " * MIB),
    "2^31 answers in one": endless(b"*2147483647\r\n", b":1\r\n" * 10_000), "silence": say(b""),
}  # fmt: skip
NOT_NOW = {name: say(f"-{name} x\r\n".encode()) for name in (
    "LOADING", "BUSY", "MISCONF", "NOREPLICAS", "MASTERDOWN", "CLUSTERDOWN", "OOM", "READONLY", "TRYAGAIN",
)}  # fmt: skip
NO_REDIS = {
    "nothing": say(b"$-1\r\n"), "no list": say(b"*-1\r\n"), "queued": say(b"+QUEUED\r\n"), "no": say(b"+NO\r\n"),
    "an error inside": say(b"*1\r\n-ERR inside\r\n"), "less than none": say(b":-1\r\n"),
    "nested": say(b"*1\r\n" * 200_000), "2^63 bytes": say(b"$9223372036854775807\r\n"), "a size": say(b"$x\r\n"),
    "a large number": say(b":" + b"9" * 100_000 + b"\r\n"), "rubbish": say(b"\xff\0\r\n"),
    "HTTP": say(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "pushes": say(b">1\r\n+x\r\n" * 100_000),
    "a map with a list for a key": say(b"%1\r\n*0\r\n+x\r\n"),
}  # fmt: skip


@pytest.mark.parametrize("command", ["SET", "HSET", "XADD", "RPUSH", "SADD"])
@pytest.mark.parametrize("lie", NO_REDIS)
def test_what_no_redis_says_is_no_success(lie: str, command: str) -> None:
    with hostile_redis(lying(NO_REDIS[lie])) as server:
        task = task_on(server, command)
        with pytest.raises(ConnectError, match="is no Redis") as refused:
            task.put(batch(), Deadline.after(20))
        assert not isinstance(refused.value, RejectedRowsError | RetriableError)
        assert len(str(refused.value)) < LONGEST_TEXT
        assert task.flush(Deadline.after(1)).get(TP) is None


@pytest.mark.parametrize("lie", ENDLESS)
def test_an_answer_that_never_ends_is_given_up(lie: str) -> None:
    with hostile_redis(lying(ENDLESS[lie])) as server:
        task = task_on(server, "SET")
        began_s = time.monotonic()
        with pytest.raises(RetriableError, match="does not answer"):
            task.put(batch(), Deadline.after(20))
        assert time.monotonic() - began_s < TIMEOUT_S + SLACK_S


@pytest.mark.parametrize("command", ["SET", "XADD"])
@pytest.mark.parametrize("state", NOT_NOW)
def test_a_server_that_takes_no_writes_for_now_makes_no_bad_rows(state: str, command: str) -> None:
    with hostile_redis(lying(NOT_NOW[state])) as server, pytest.raises(RetriableError):
        task_on(server, command).put(batch(), Deadline.after(20))


@pytest.mark.parametrize("sends", ["MOVING", "-MOVED", "-ASK"])
def test_no_login_and_no_row_goes_to_a_host_that_an_answer_names(sends: str) -> None:
    """Loopback has more than one address: the library keeps the port, and takes another host."""
    with (
        running(HostileRedis(lying(say(b"")))) as server,
        running(HostileRedis(lying(say(OK)), "127.0.0.2", server.port)) as other,
    ):
        said = moving("127.0.0.2") + OK if sends == "MOVING" else f"{sends} 5 127.0.0.2:{server.port}\r\n".encode()
        server.answers = lying(say(said))
        task = task_on(server, "SET")
        for _ in range(3):
            with pytest.raises(ConnectError):
                task.put(batch(), Deadline.after(20))
        assert server.asked
        assert other.asked == []


def test_an_error_of_any_length_is_cut() -> None:
    with hostile_redis(lying(say(b"-ERR " + b"x" * 100_000 + ANSI.encode() + b"\r\n"))) as server:
        with pytest.raises(RejectedRowsError) as refused:
            task_on(server, "SET").put(batch(), Deadline.after(20))
        assert all(len(str(error)) < LONGEST_TEXT for error in refused.value.rows.values())
