"""Checks the Redis sinks on a real server: what each command leaves there, what is refused, and a server that is
killed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import redis

from connect.api import schema as s
from connect.api.errors import ConfigError, RejectedRowsError, RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connect.tools.services.process.errors import ArtifactError
from connect.tools.services.redis import RedisService
from connectors.redis.config import HostsRedisSinkConfig, RedisSinkConfig
from connectors.redis.sink import RedisSinkConnector, RedisSinkTask

pytestmark = pytest.mark.integration
TP = TopicPartition("orders", 0)
ROW = s.struct({"id": s.INT64, "name": s.STRING.as_optional()})


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisService]:
    service = RedisService(data_folder=Path(tmp_path_factory.mktemp("redis")))
    try:
        service.prepare()
    except ArtifactError as missing:
        pytest.skip(str(missing))
    with service:
        yield service


@pytest.fixture
def client(service: RedisService) -> redis.Redis:
    client = redis.Redis(port=service.endpoint.port)
    client.flushall()
    return client


def batch(values: Sequence[Any], keys: Sequence[Any] = (), schema: s.Schema | None = None, start: int = 0) -> Batch:
    offsets = pa.array(range(start, start + len(values)), pa.int64())
    column = Column.from_rows(keys, None) if keys else None
    return Batch(
        "orders", Column.from_rows(values, schema), column, consumed=Consumed(TP, offsets, start + len(values))
    )


def task_on(service: RedisService, command: str, **keys: str) -> RedisSinkTask:
    own = {f"redis.{name}": value for name, value in keys.items()}
    config = RedisSinkConfig.parse(
        {"redis.uri": f"redis://127.0.0.1:{service.endpoint.port}/0", **own, "redis.command": command}
    )
    task = RedisSinkTask(config)
    task.open(FakeSinkContext())
    return task


def put(task: RedisSinkTask, one: Batch) -> int:
    task.put(one, Deadline.after(20))
    return task.flush(Deadline.after(5))[TP]


def test_keys_are_set_and_deleted(service: RedisService, client: redis.Redis) -> None:
    task = task_on(service, "SET", keyspace="o")
    assert put(task, batch([b"\x00a", "é", 7, {"x": 1}, "gone", None], ["a", "b", "c", 4, "e", "e"])) == 6
    found = {key: client.get(key) for key in client.scan_iter()}
    assert found == {b"o:a": b"\x00a", b"o:b": "é".encode(), b"o:c": b"7", b"o:4": b'{"x":1}'}


def test_hashes_streams_lists_and_sets(service: RedisService, client: redis.Redis) -> None:
    rows = [{"id": 1, "name": "a"}, {"id": 2, "name": None}]
    put(task_on(service, "HSET"), batch(rows, ["x", "y"], ROW))
    assert (client.hgetall("orders:x"), client.hgetall("orders:y")) == ({b"id": b"1", b"name": b"a"}, {b"id": b"2"})
    put(task_on(service, "XADD", keyspace="stream-${topic}"), batch(rows, schema=ROW))
    assert [fields for _, fields in client.xrange("stream-orders")] == [{b"id": b"1", b"name": b"a"}, {b"id": b"2"}]
    put(task_on(service, "RPUSH", keyspace="list"), batch(["v", "v"], ["a", "b"]))
    put(task_on(service, "SADD", keyspace="set"), batch(["v"] * 4, ["a", "a", "b", "c"]))
    put(task_on(service, "SADD", keyspace="set"), batch([None], ["c"]))
    assert (client.lrange("list", 0, -1), client.smembers("set")) == ([b"a", b"b"], {b"a", b"b"})


def test_a_field_that_is_null_now_leaves_the_hash(service: RedisService, client: redis.Redis) -> None:
    put(task_on(service, "HSET"), batch([{"a": 1, "b": 2}, {"a": 3, "b": None}], ["x", "x"]))
    assert client.hgetall("orders:x") == {b"a": b"3"}


def test_what_redis_refuses_is_a_bad_row_and_all_else_is_written(service: RedisService, client: redis.Redis) -> None:
    client.rpush("orders:list", "x")
    task = task_on(service, "HSET")
    with pytest.raises(RejectedRowsError) as refused:
        put(task, batch([{"a": 1}, {"a": 2}, "no fields", {"a": 3}], ["list", "ok", "text", None]))
    assert {row: type(error).__name__ for row, error in refused.value.rows.items()} == {
        0: "ConnectError", 2: "SchemaError", 3: "SchemaError",
    }  # fmt: skip
    assert client.hgetall("orders:ok") == {b"a": b"2"}


def test_a_server_that_is_killed_loses_nothing_that_was_claimed(service: RedisService, client: redis.Redis) -> None:
    task = task_on(service, "SET", keyspace="k", timeout="2")
    claimed = 0
    for start in range(0, 3000, 500):
        part = batch([str(n) for n in range(start, start + 500)], list(range(start, start + 500)), start=start)
        if start == 1500:
            service.kill()
            with pytest.raises(RetriableError, match="does not answer"):
                put(task, part)
            service.start()
        claimed = put(task, part)
    again = redis.Redis(port=service.endpoint.port)
    assert claimed == 3000
    assert sorted(int(key.partition(b":")[2]) for key in again.keys("k:*")) == list(range(3000))


class SecondQuestion(threading.Event):
    """Stops a call that asks for the second time if it is to stop."""

    asked = 0

    def is_set(self) -> bool:
        self.asked += 1
        return self.asked > 1


@pytest.mark.parametrize("command", ["XADD", "LPUSH", "RPUSH"])
def test_a_retry_goes_on_behind_what_was_answered(service: RedisService, client: redis.Redis, command: str) -> None:
    task = task_on(service, command)
    rows = batch([{"n": n} for n in range(2500)], list(range(2500)))
    with pytest.raises(RetriableError, match="no time left"):
        task.put(rows, Deadline.after(60, SecondQuestion()))
    assert put(task, rows) == 2500
    found = (
        [int(entry[b"n"]) for _, entry in client.xrange("orders")]
        if command == "XADD"
        else [int(member) for member in client.lrange("orders", 0, -1)][:: -1 if command == "LPUSH" else 1]
    )
    assert found == list(range(2500))


def test_a_server_that_runs_full_adds_a_request_as_a_whole_or_not_at_all(
    service: RedisService, client: redis.Redis
) -> None:
    task = task_on(service, "XADD")
    rows = batch([{"n": n, "x": "x" * 1000} for n in range(900)])
    assert put(task, batch([{"n": -1}])) == 1
    client.config_set("maxmemory", client.info("memory")["used_memory"] + 300_000)
    try:
        with pytest.raises(RetriableError, match="cannot do that for now"):
            put(task, rows)
    finally:
        client.config_set("maxmemory", 0)
    assert put(task, rows) == 900
    assert [int(entry[b"n"]) for _, entry in client.xrange("orders")] == [-1, *range(900)]


def test_a_server_that_is_killed_amid_a_batch_adds_one_request_twice_at_most(
    service: RedisService, client: redis.Redis
) -> None:
    task = task_on(service, "XADD", timeout="10")
    rows = batch([{"n": n} for n in range(20_000)])

    def kill_amid() -> None:
        while client.xlen("orders") < 3_000 and not over.is_set():
            pass
        service.kill()

    over, killing = threading.Event(), threading.Thread(target=kill_amid)
    killing.start()
    try:
        with pytest.raises(RetriableError, match="does not answer"):
            put(task, rows)
    finally:
        over.set()
        killing.join()
        service.start()
    assert put(task, rows) == 20_000
    found = [int(entry[b"n"]) for _, entry in redis.Redis(port=service.endpoint.port).xrange("orders")]
    assert list(dict.fromkeys(found)) == list(range(20_000))
    assert len(found) in {20_000, 21_000}, "the request whose answer was lost is there as a whole or not at all"


def test_a_server_that_wants_a_password_refuses_at_its_key(service: RedisService, client: redis.Redis) -> None:
    client.config_set("requirepass", "Kx7-secret")
    try:
        for given in ("", "wrong"):
            own = {"redis.hosts": f"127.0.0.1:{service.endpoint.port}", "redis.password": given}
            with pytest.raises(ConfigError, match="refuses access") as refused:
                RedisSinkConnector(HostsRedisSinkConfig.parse(own)).check(Deadline.after(10))
            assert "Kx7-secret" not in str(refused.value)
        own = {"redis.hosts": f"127.0.0.1:{service.endpoint.port}", "redis.password": "Kx7-secret"}
        RedisSinkConnector(HostsRedisSinkConfig.parse(own)).check(Deadline.after(10))
    finally:
        client.config_set("requirepass", "")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"redis.uri": "http://h"}, "redis.uri"),
        ({"redis.uri": "redis:///0"}, "redis.uri"),
        ({"redis.command": "ZADD"}, "redis.command"),
        ({"redis.cluster.enabled": "true"}, "redis.cluster.enabled"),
        ({"redis.host": "h", "allowed.hosts": "other"}, "redis.host"),
        ({"redis.uri": "redis://h/0", "allowed.hosts": "other"}, "redis.uri"),
        ({"redis.cacert": "/etc/hostname"}, "redis.cacert"),
    ],
)
def test_settings_that_cannot_be_are_named(given: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        RedisSinkConfig.parse(given)
    assert {problem.key for problem in refused.value.problems} == {told}
