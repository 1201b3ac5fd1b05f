"""A sink that dies between a dead letter and the commit: the letter is there first, and the record is read again."""

from __future__ import annotations

import pyarrow as pa
import pytest

from connect.api.errors import RetriableError
from connect.api.records import TopicPartition
from connect.kafka.raw import RawBatch
from connect.plugins import Catalog
from connect.runtime.build import build_converters
from connect.runtime.connector_config import SinkConnectorConfig
from connect.runtime.control import Control
from connect.runtime.dead_letter import DeadLetters
from connect.runtime.figures import TaskFigures
from connect.runtime.messages import TaskId
from connect.runtime.pipeline import SinkPipeline
from connect.runtime.retry import RetryBudget
from connect.runtime.sink_loop import SinkLoop
from connect.runtime.tolerance import Tolerance
from connect.runtime.used_topics import UsedTopics

TP = TopicPartition("orders", 0)
LOG = [b'{"a":1}', b"no json", b'{"a":3}']
CONFIG = {
    "name": "n", "connector.class": "c", "topics": "orders", "errors.tolerance": "all",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "false",
}  # fmt: skip


class KilledError(BaseException):
    """kill -9: nothing behind it runs."""


class World:
    """Kafka and the target, which outlive the task; `dies_at` names the step at which it is killed once."""

    def __init__(self, dies_at: str = "", letters_wait: int = 0) -> None:
        self.dies_at = dies_at
        self.letters_wait = letters_wait
        self.committed = 0
        self.letters: list[bytes] = []
        self.target: dict[int, int] = {}
        self.events: list[str] = []

    def step(self, name: str) -> None:
        self.events.append(name)
        if name == self.dies_at:
            self.dies_at = ""
            raise KilledError


class Letters:
    """The dead-letter producer: what was sent counts once it is flushed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sent: list[bytes] = []

    @property
    def outstanding(self) -> int:
        return len(self.sent)

    def send(self, batch, deadline):
        self.world.step("letter sent")
        self.sent += batch.values.to_pylist()

    def flush(self, deadline):
        if self.world.letters_wait:
            self.world.letters_wait -= 1
            self.world.step("letters not acknowledged")
            raise RetriableError("The brokers do not answer.")
        self.world.letters += self.sent
        self.sent = []
        self.world.step("letters acknowledged")


class Consumer:
    def __init__(self, world: World, control: Control) -> None:
        self.world = world
        self.control = control
        self.read_to = world.committed
        self.callbacks = ()

    def subscribe(self, topics, *callbacks):
        self.callbacks = callbacks

    def poll(self, most, deadline):
        if self.callbacks:
            self.callbacks[0]([TP])
            self.callbacks = ()
        at, self.read_to = self.read_to, len(LOG)
        if at == len(LOG):
            self.control.ask_to_stop()
            return []
        offsets = pa.array(range(at, len(LOG)), pa.int64())
        return [RawBatch("orders", pa.array(LOG[at:], pa.binary()), partition=0, offsets=offsets, next_offset=len(LOG))]

    def commit(self, offsets, deadline):
        self.world.step("commit")
        self.world.committed = offsets[TP]

    trouble = None

    def end_offsets(self):
        return {}

    def position(self, partitions):
        return {}


class Task:
    def __init__(self, world: World) -> None:
        self.world = world
        self.next_offset = None

    def assigned(self, partitions):
        pass

    def put(self, batch, deadline):
        for offset, row in zip(batch.consumed.offsets.to_pylist(), batch.values.rows(), strict=True):
            self.world.target[offset] = row["a"]
        self.next_offset = batch.consumed.next_offset

    def flush(self, deadline):
        return {} if self.next_offset is None else {TP: self.next_offset}


def live(world: World) -> None:
    """One life of the task, until all is read or it is killed."""
    control = Control()
    config = SinkConnectorConfig.parse(CONFIG)
    letters = DeadLetters(
        Letters(world), "dlq", TaskId("n", 0), context_headers=False, timeout_s=1, read_again=lambda *_: None
    )
    tolerance = Tolerance(config, TaskFigures(), letters.add)
    loop = SinkLoop(
        Task(world), Consumer(world, control), task_class="Sink", dead_letters=letters, tolerance=tolerance,
        pipeline=SinkPipeline([], build_converters(Catalog.installed(), CONFIG, {}), tolerance.give_up),
        figures=TaskFigures(), max_records=100, put_timeout_s=1, flush_interval_s=0, flush_timeout_s=1,
        retry_delay_max_s=0.01, used_topics=UsedTopics(), retries=RetryBudget(0),
    )  # fmt: skip
    loop.run(control, lambda paused: None, ["orders"])


@pytest.mark.parametrize("dies_at", ["letter sent", "letters acknowledged", "commit"])
def test_killed_between_letter_and_commit_no_row_is_lost(dies_at):
    world = World(dies_at)
    with pytest.raises(KilledError):
        live(world)
    assert world.committed == 0
    if dies_at == "commit":
        assert world.events.index("letters acknowledged") < world.events.index("commit")
        assert world.letters == [b"no json"]
    live(world)
    assert world.committed == len(LOG)
    assert set(world.letters) == {b"no json"}
    assert world.target == {0: 1, 2: 3}


def test_nothing_is_committed_before_its_letter_is_acknowledged():
    world = World(letters_wait=2)
    live(world)
    waited = [i for i, event in enumerate(world.events) if event == "letters not acknowledged"]
    assert len(waited) == 2
    assert world.events.index("letters acknowledged") > waited[-1]
    assert "commit" not in world.events[: waited[-1]]
    assert (world.committed, world.letters) == (len(LOG), [b"no json"])
