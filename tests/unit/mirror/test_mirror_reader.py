"""A reader of another cluster begins where auto.offset.reset says, and closes its consumer whatever fails."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import pytest

from connect.api.errors import ConnectError, RetriableError
from connect.api.optional.other_clusters import ClusterReader
from connect.api.records import TopicPartition
from connect.lib.deadline import Deadline
from connect.runtime.topics import other_cluster
from connect.runtime.topics.other_cluster import open_cluster

pytestmark = pytest.mark.quick
READ, NEW, GONE = TopicPartition("o", 0), TopicPartition("o", 1), TopicPartition("deleted", 0)
STARTS: Mapping[TopicPartition, int | None] = {READ: 42, NEW: None, GONE: None}
Starts = Mapping[TopicPartition, int | None]


class Consumer:
    """Stands for the consumer of a reader."""

    def __init__(self, settings: object) -> None:
        self.assigned: list[Starts] = []
        self.fails = False
        self.closed = 0

    def assign(self, starts: Starts) -> None:
        self.assigned.append(starts)
        if self.fails:
            raise ConnectError("planted")

    def poll(self, most: int, deadline: Deadline) -> Sequence[object]:
        return []

    def close(self, deadline: Deadline) -> None:
        self.closed += 1


class Admin:
    """Tells where logs end, of topics that are there."""

    away = False

    def __init__(self, settings: object) -> None: ...

    def topics(self, deadline: Deadline) -> Mapping[str, int]:
        if Admin.away:
            raise RetriableError("planted")
        return {"o": 2}

    def end_offsets(
        self, places: Collection[TopicPartition], deadline: Deadline, *, committed_only: bool
    ) -> dict[TopicPartition, int]:
        assert committed_only
        return dict.fromkeys(places, 70)

    def offsets_at(
        self, places: Collection[TopicPartition], at_ms: int, deadline: Deadline
    ) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, 50)


@pytest.fixture
def consumers(monkeypatch: pytest.MonkeyPatch) -> list[Consumer]:
    """Return the list of consumers that are made."""
    made: list[Consumer] = []

    def make(settings: object) -> Consumer:
        made.append(Consumer(settings))
        return made[-1]

    monkeypatch.setattr(other_cluster, "BatchConsumer", make)
    monkeypatch.setattr(other_cluster, "TopicAdmin", Admin)
    monkeypatch.setattr(Admin, "away", False)
    return made


def _reader(**given: str) -> ClusterReader:
    settings = {"bootstrap.servers": "127.0.0.1:1", "isolation.level": "read_committed"}
    client = {**settings, **{name.replace("_", "."): text for name, text in given.items()}}
    return open_cluster({}, "copy", client, "source.cluster.").reader(STARTS)


@pytest.mark.parametrize(
    ("given", "start"), [({}, None), ({"auto_offset_reset": "earliest"}, None), ({"auto_offset_reset": "latest"}, 70),
    ({"auto_offset_reset": "by_duration:PT1H"}, 50)],
)  # fmt: skip
def test_a_partition_without_an_offset_begins_where_the_settings_say(
    consumers: list[Consumer], given: dict[str, str], start: int | None
) -> None:
    reader = _reader(**given)
    reader.poll(Deadline.after(0.1))
    reader.poll(Deadline.after(0.1))
    assert consumers[0].assigned == [{READ: 42, NEW: start, GONE: None}]


def test_a_reader_that_may_choose_no_place_says_so(consumers: list[Consumer]) -> None:
    with pytest.raises(ConnectError, match="No offset of deleted-0 is stored"):
        _reader(auto_offset_reset="none").poll(Deadline.after(0.1))


def test_brokers_that_do_not_answer_are_asked_again(consumers: list[Consumer], monkeypatch: pytest.MonkeyPatch) -> None:
    reader = _reader(auto_offset_reset="latest")
    monkeypatch.setattr(Admin, "away", True)
    with pytest.raises(RetriableError):
        reader.poll(Deadline.after(0.1))
    monkeypatch.setattr(Admin, "away", False)
    reader.poll(Deadline.after(0.1))
    assert consumers[0].assigned == [{READ: 42, NEW: 70, GONE: None}]


def test_a_reader_whose_partitions_cannot_be_assigned_is_closed(consumers: list[Consumer]) -> None:
    reader = _reader()
    consumers[0].fails = True
    with pytest.raises(ConnectError, match="planted"):
        reader.poll(Deadline.after(0.1))
    with pytest.raises(ConnectError, match="planted"):
        reader.close()
    assert consumers[0].closed == 1
