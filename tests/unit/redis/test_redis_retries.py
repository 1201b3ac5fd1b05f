"""A batch that is put again goes on behind what Redis has answered, so no entry is added twice for an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pytest
from hostile_redis import Answer, Command, Handler, hostile_redis

from connect.api.errors import RejectedRowsError, RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.redis.config import RedisSinkConfig
from connectors.redis.sink import RedisSinkTask

TP = TopicPartition("orders", 0)
OK, QUEUED = b"+OK\r\n", b"+QUEUED\r\n"


def batch(keys: Sequence[str] = ("a", "b", "c")) -> Batch:
    consumed = Consumed(TP, pa.array(range(len(keys)), pa.int64()), len(keys))
    return Batch("orders", Column.from_rows(["v"] * len(keys), None), Column.from_rows(keys, None), consumed=consumed)


def task_on(port: int, command: str = "RPUSH") -> RedisSinkTask:
    task = RedisSinkTask(RedisSinkConfig.parse({"redis.uri": f"redis://127.0.0.1:{port}", "redis.command": command}))
    task.open(FakeSinkContext())
    return task


def put(task: RedisSinkTask, one: Batch) -> int:
    task.put(one, Deadline.after(20))
    return task.flush(Deadline.after(1))[TP]


def answering(of: Callable[[Command], bytes | None]) -> Answer:
    """Answer each write by `of`, or end the connection where it returns None; all else is OK."""

    def answer(to: Handler, command: Command) -> None:
        said = of(command) if command[0] in {b"MULTI", b"EXEC", b"RPUSH"} else OK
        if said is None:
            raise OSError("The test ends the connection.")
        to.wfile.write(said)

    return answer


def in_transactions(refused: bytes = b"") -> Callable[[Command], bytes]:
    """Answer as Redis does in a transaction. It queues no command with the member `refused`."""
    queued: list[Command] = []
    wrong: list[Command] = []

    def said(command: Command) -> bytes:
        if command == (b"MULTI",):
            queued.clear()
            wrong.clear()
            return OK
        if command != (b"EXEC",):
            (wrong if command[-1] == refused else queued).append(command)
            return b"-ERR no such thing\r\n" if command[-1] == refused else QUEUED
        if wrong:
            return b"-EXECABORT Transaction discarded because of previous errors.\r\n"
        return b"*%d\r\n" % len(queued) + b":1\r\n" * len(queued)

    return said


def pushed(asked: Sequence[Command]) -> list[bytes]:
    return [command[-1] for command in asked if command[0] == b"RPUSH"]


def test_commands_that_add_are_carried_out_together_or_not_at_all() -> None:
    with hostile_redis(answering(in_transactions())) as server:
        assert put(task_on(server.port), batch()) == 3
        written = [command[0] for command in server.asked if command[0] not in {b"CLIENT", b"SELECT"}]
        assert written == [b"MULTI", b"RPUSH", b"RPUSH", b"RPUSH", b"EXEC"]


def test_a_command_that_redis_does_not_queue_is_one_bad_row() -> None:
    with hostile_redis(answering(in_transactions(refused=b"b"))) as server:
        task = task_on(server.port)
        with pytest.raises(RejectedRowsError, match="no such thing") as refused:
            put(task, batch())
        assert list(refused.value.rows) == [1]
        assert task.flush(Deadline.after(1)) == {TP: 3}


@pytest.mark.parametrize("state", ["OOM", "READONLY", "NOREPLICAS", "MISCONF", "BUSY"])
@pytest.mark.parametrize("where", [b"MULTI", b"RPUSH", b"EXEC"])
def test_a_transaction_that_redis_refuses_for_now_is_put_again(where: bytes, state: str) -> None:
    whole = in_transactions()
    states = [b"-%b not now\r\n" % state.encode()]

    def said(command: Command) -> bytes:
        answer = whole(command)
        return states.pop() if command[0] == where and states else answer

    with hostile_redis(answering(said)) as server:
        task = task_on(server.port)
        with pytest.raises(RetriableError):
            put(task, batch())
        server.asked.clear()
        assert put(task, batch()) == 3
        assert pushed(server.asked) == [b"a", b"b", b"c"]


def test_without_transactions_the_next_try_goes_on_behind_the_last_answer() -> None:
    cuts = [b"c"]

    def said(command: Command) -> bytes | None:
        if command == (b"MULTI",):
            return b"-ERR unknown command 'MULTI'\r\n"
        return None if command[-1] in cuts and cuts.pop() else b":1\r\n"

    with hostile_redis(answering(said)) as server:
        task = task_on(server.port)
        with pytest.raises(RetriableError, match="does not answer"):
            put(task, batch())
        assert pushed(server.asked) == [b"a", b"b", b"c"]
        server.asked.clear()
        assert put(task, batch()) == 3
        assert pushed(server.asked) == [b"c"]


def test_another_batch_begins_at_its_own_first_row() -> None:
    cuts = [b"c"]

    def said(command: Command) -> bytes | None:
        if command == (b"MULTI",):
            return b"-NOPERM this user has no permissions\r\n"
        return None if command[-1] in cuts and cuts.pop() else b":1\r\n"

    with hostile_redis(answering(said)) as server:
        task = task_on(server.port)
        with pytest.raises(RetriableError):
            put(task, batch())
        server.asked.clear()
        assert put(task, batch(["x", "y"])) == 2
        task.revoked([TP])
        assert put(task, batch()) == 3
        assert pushed(server.asked) == [b"x", b"y", b"a", b"b", b"c"]
