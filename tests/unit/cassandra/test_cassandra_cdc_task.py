"""Runs the agent's task over recorded segments: no position is told before all tables' batches of its mutations."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from cdc_fixtures import all_frames, segment_bytes, table, tables, updates
from segment_writer import segment

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConnectError, RetriableError
from connect.api.records import Batch
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext, OffsetStore
from connectors.cassandra.log import agent
from connectors.cassandra.log.agent import CassandraCdcTask
from connectors.cassandra.log.agent_config import CassandraAgentConfig
from connectors.cassandra.log.segments.index_file import parse_index

IDS = {"plain": 1795225529915, "lz4": 1795225910689}


class Node:
    """Answers what the agent asks, for the tables of the recorded segments."""

    def __init__(self) -> None:
        self.closed = self.is_away = False
        self.without_cdc: set[str] = set()

    def rows(self, query: str, parameters: Sequence[object] = (), *, doing: str) -> list[tuple[Any, ...]]:
        if self.is_away:
            raise RetriableError("no node answers")
        if "system.local" in query:
            return [("cluster", "datacenter", UUID(int=5))]
        if "system_views.settings" in query:
            return [("cdc_total_space", "256MiB"), ("cdc_block_writes", "true")]
        if "system_schema.views" in query:
            return []
        return _schema(query.partition("system_schema.")[2], self.without_cdc)

    def close(self) -> None:
        self.closed = True


def _schema(name: str, without_cdc: set[str]) -> list[tuple[Any, ...]]:
    known = tables().values()
    match name:
        case "tables":
            return [(t.keyspace, t.name, t.id, t.cdc and t.name not in without_cdc, None) for t in known]
        case "keyspaces":
            return [("ks", True)]
        case "types":
            return [("ks", "addr", ["street", "number"], ["text", "int"])]
        case "dropped_columns":
            return [(t.keyspace, t.name, n, c.name, 0) for t in known for n, c in t.dropped.items()]
    kinds = ("partition_key", "clustering", "static", "regular")
    return [
        (t.keyspace, t.name, c.name, kind, i, _text(c.type), "desc" if c.descending else "asc")
        for t in known
        for kind, columns in zip(kinds, (t.partition_key, t.clustering, t.static, t.regular), strict=True)
        for i, c in enumerate(columns)
    ]


def _text(cql: Any) -> str:
    name = cql.title.partition(".")[2] if cql.name == "udt" else cql.name
    inner = f"<{', '.join(map(_text, cql.parameters))}>" if cql.parameters and cql.name != "udt" else ""
    return f"frozen<{name}{inner}>" if cql.frozen and cql.name != "tuple" else f"{name}{inner}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cdc_raw folder with two completed segments."""
    raw = tmp_path / "cdc_raw"
    raw.mkdir()
    for kind, number in IDS.items():
        (raw / f"CommitLog-7-{number}.log").write_bytes(segment_bytes(kind))
        (raw / f"CommitLog-7-{number}_cdc.idx").write_text("1\nCOMPLETED")
    return raw


def opened(
    folder: Path, store: OffsetStore, node: Node | None = None, **settings: str
) -> tuple[CassandraCdcTask, FakeSourceContext]:
    given = {"cdc.raw.folder": str(folder), "poll.interval.ms": "1", **settings}
    task = CassandraCdcTask(CassandraAgentConfig.parse({**given, **EVERYWHERE}), node or Node())
    context = FakeSourceContext(store=store)
    task.open(context)
    return task, context


def polled(task: CassandraCdcTask, last: str = "lz4") -> list[Batch]:
    """All there is, up to the end of the last segment."""
    found: list[Batch] = []
    while not found or not is_the_end(found[-1], last):
        unit = task.poll(Deadline.after(20))
        assert unit
        found.extend(unit)
    return found


def is_the_end(batch: Batch, last: str) -> bool:
    offset = batch.position.offset if batch.position is not None else None
    return offset is not None and offset.get("segment") == IDS[last] and offset["finished"] is True


def place_of(batch: Batch) -> dict[str, Any] | None:
    """The place in the log that a batch carries."""
    offset = dict(batch.position.offset or {}) if batch.position is not None else {}
    return offset if "segment" in offset else None


def changes(batches: list[Batch]) -> list[tuple[int, int]]:
    sources = [row["source"] for batch in batches for row in batch.values.rows()]
    return sorted((source["segment"], source["position"]) for source in sources)


def expected(*kinds: str) -> set[tuple[int, int]]:
    return {(IDS[kind], at) for kind in kinds for at, u in updates(segment_bytes(kind)) if u.table.name != "cnt"}


def test_all_changes_come_and_the_segments_go_when_their_ends_are_stored(folder: Path) -> None:
    task, context = opened(folder, OffsetStore())
    batches = polled(task)
    assert set(changes(batches)) == expected("plain", "lz4")
    assert len(changes(batches)) > 3800
    assert context.gauges["cdc_raw_bytes"] > 10**6
    assert context.gauges["cdc_raw_limit_bytes"] == 256 << 20
    assert len(list(folder.iterdir())) == 4
    last = [batch.position for batch in batches if batch.position is not None][-1]
    assert last.offset is not None
    assert last.offset["finished"] is True
    task.stored([last])
    assert list(folder.iterdir()) == []
    task.close()


def test_a_batch_ends_once_it_has_so_many_bytes_of_the_log(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "BATCH_BYTES", 500)
    task, _ = opened(folder, OffsetStore())
    batches = polled(task)
    assert set(changes(batches)) == expected("plain", "lz4")
    assert max(len(batch) for batch in batches) < 100
    task.close()


def test_a_run_that_ends_behind_any_position_loses_nothing(folder: Path) -> None:
    """Batches of several tables come out of the same mutations: the position is behind the last of them alone."""
    for path in folder.glob(f"*{IDS['lz4']}*"):
        path.unlink()
    reference, _ = opened(folder, OffsetStore(), **{"max.batch.size": "40"})
    whole = polled(reference, "plain")
    reference.close()
    assert len({batch.topic for batch in whole}) > 5
    for stop in (1, 2, 3, 5, 8, len(whole)):
        store = OffsetStore()
        store.store([batch.position for batch in whole[:stop] if batch.position is not None])
        task, _ = opened(folder, store, **{"max.batch.size": "1000"})
        rest = [] if is_the_end(whole[stop - 1], "plain") else polled(task, "plain")
        assert set(changes(whole[:stop])) | set(changes(rest)) == expected("plain")
        task.close()


def test_a_segment_without_changes_of_watched_tables_is_let_go_and_makes_no_topic(folder: Path) -> None:
    task, _ = opened(folder, OffsetStore(), tables="ks.bench")
    batches = polled(task)
    assert {(batch.topic, len(batch)) for batch in batches} == {("ks.bench", 0)}
    assert [place["finished"] for batch in batches if (place := place_of(batch))] == [True] * 2
    task.stored([batch.position for batch in batches if batch.position is not None])
    assert list(folder.iterdir()) == []


def test_a_mutation_that_cannot_be_read_is_named_and_its_segment_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    raw = tmp_path / "cdc_raw"
    raw.mkdir()
    wanted = table("simple").id.bytes
    good = [frame.body for frame in all_frames(segment_bytes("plain")) if frame.body[1:17] == wanted]
    data = segment([[good[0], good[1][:-3], good[2]]], segment_id=IDS["plain"], version=7)
    (raw / f"CommitLog-7-{IDS['plain']}.log").write_bytes(data)
    (raw / f"CommitLog-7-{IDS['plain']}_cdc.idx").write_text("1\nCOMPLETED")
    task, _ = opened(raw, OffsetStore())
    with caplog.at_level(logging.ERROR):
        batches = polled(task, "plain")
    ends = [frame.end for frame in all_frames(data)]
    assert {position for _, position in changes(batches)} == {ends[0], ends[2]}
    assert f"Segment {raw}/CommitLog-7-{IDS['plain']}.log is damaged" in caplog.text
    assert f"The mutation of ks.simple before position {ends[1]} cannot be read: The bytes end at" in caplog.text
    task.stored([batch.position for batch in batches if batch.position is not None])
    assert list(raw.iterdir()) == []
    assert (tmp_path / "cdc_raw_damaged" / f"CommitLog-7-{IDS['plain']}.log").read_bytes() == data
    task.close()


def test_a_node_that_is_away_when_its_schema_is_to_be_read_again_costs_no_change(folder: Path) -> None:
    node = Node()
    task, _ = opened(folder, OffsetStore(), node)
    node.is_away = True
    for _ in range(3):
        with pytest.raises(RetriableError):
            task.poll(Deadline.after(20))
    node.is_away = False
    assert set(changes(polled(task))) == expected("plain", "lz4")
    task.close()


def test_a_table_whose_cdc_is_turned_on_in_a_segment_that_is_not_read_is_watched_from_the_next_one_on(
    folder: Path,
) -> None:
    node = Node()
    node.without_cdc.add("simple")
    task, _ = opened(folder, OffsetStore(), node, tables="ks.simple")
    assert changes(polled(task, "plain")) == []
    node.without_cdc.clear()
    of_table = {(IDS["lz4"], at) for at, u in updates(segment_bytes("lz4")) if u.table.name == "simple"}
    assert set(changes(polled(task))) == of_table != set()
    task.close()


def test_a_folder_that_is_not_there_is_named_with_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=r"The folder .*/nowhere cannot be listed: .* Name the node's cdc_raw"):
        opened(tmp_path / "nowhere", OffsetStore())


def test_a_poll_returns_by_its_deadline_and_closing_twice_is_harmless(tmp_path: Path) -> None:
    task, _ = opened(tmp_path, OffsetStore())
    noted = [batch.position.partition for batch in task.poll(Deadline.after(5)) if batch.position is not None]
    assert noted == [agent.OWNER, {"protocol": "1", "node": str(UUID(int=5)), "keyspace": "ks"}]
    assert not task.poll(Deadline.after(0.01))
    task.close()
    task.close()


def test_the_delay_is_none_once_all_that_the_node_wrote_is_stored_and_grows_while_it_is_not(folder: Path) -> None:
    task, context = opened(folder, OffsetStore())
    opened_s = context.caught_up_s
    assert context.is_behind, "nothing was read yet"
    batches = polled(task)
    while unit := task.poll(Deadline.after(0.01)):
        batches.extend(unit)
    assert (context.caught_up_s, context.is_behind) == (opened_s, True), "what is given is not in Kafka"
    assert context.gauges["waiting_segments"] == 2
    places = [batch.position for batch in batches if batch.position is not None and place_of(batch)]
    task.stored(places[:1])
    assert context.is_behind, "the last of it is not stored"
    task.stored(places[-1:])
    assert not context.is_behind
    assert context.caught_up_s is not None
    assert opened_s is not None
    assert context.caught_up_s > opened_s
    while task.poll(Deadline.after(0.01)):
        assert not context.is_behind, "a place told again has no changes"
    assert context.gauges["waiting_segments"] == 0
    drained_s = context.caught_up_s
    (folder / f"CommitLog-7-{IDS['lz4'] + 1}.log").write_bytes(segment_bytes("lz4"))
    # The node still has it under another name, so that it is not taken for a segment that was let go.
    (folder.parent / "commitlog").hardlink_to(folder / f"CommitLog-7-{IDS['lz4'] + 1}.log")
    (folder / f"CommitLog-7-{IDS['lz4'] + 1}_cdc.idx").write_text("broken")
    while not context.is_behind:
        task.poll(Deadline.after(0.01))
    task.poll(Deadline.after(0.01))
    assert context.is_behind, "a segment whose index tells nothing holds what was not read"
    assert context.caught_up_s < drained_s + 60
    task.close()


def test_the_unread_part_of_the_log_is_told_until_there_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "_UNREAD_S", 0.0)
    ends = [parse_index(file.read_text()) for file in folder.glob("*_cdc.idx")]
    written_bytes = sum(end.synced for end in ends if end is not None)
    task, context = opened(folder, OffsetStore())
    assert "source_lag_bytes" not in context.gauges, "nobody has looked yet"
    told = []
    while unit := task.poll(Deadline.after(0.01)):
        told.append(context.gauges["source_lag_bytes"])
        task.stored([batch.position for batch in unit if batch.position is not None])
    assert 0 < told[0] < written_bytes
    assert told == sorted(told, reverse=True)
    assert context.gauges["source_lag_bytes"] == 0
    assert context.gauges["source_lag_rows"] == 0
    task.close()


def test_rows_that_were_read_and_are_not_stored_are_its_lag_at_the_end_of_the_log(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "_UNREAD_S", 0.0)
    task, context = opened(folder, OffsetStore())
    units = []
    while unit := task.poll(Deadline.after(0.01)):
        units.append(unit)
        assert "source_lag_rows" not in context.gauges, "nobody knows how many rows the unread log holds"
    rows = sum(len(batch) for unit in units for batch in unit)
    assert context.gauges["source_lag_rows"] == rows > 0
    places = [batch.position for unit in units for batch in unit if batch.position is not None]
    task.stored(places[:-1])
    task.poll(Deadline.after(0.01))
    assert context.gauges["source_lag_rows"] < rows
    task.stored(places[-1:])
    task.poll(Deadline.after(0.01))
    assert context.gauges["source_lag_rows"] == 0
    task.close()


def test_a_node_that_writes_a_little_all_the_time_is_read_once_an_interval(folder: Path) -> None:
    for path in folder.glob(f"*{IDS['lz4']}*"):
        path.unlink()
    index, whole = folder / f"CommitLog-7-{IDS['plain']}_cdc.idx", len(segment_bytes("plain"))
    index.write_text(str(whole // 2))
    task, _ = opened(folder, OffsetStore(), **{"poll.interval.ms": "60000"})
    assert sum(len(batch) for batch in task.poll(Deadline.after(20))) > 10
    index.write_text(f"{whole}\nCOMPLETED")
    assert task.poll(Deadline.after(0.3)) == ()
    task.close()


def test_a_backlog_is_read_without_a_pause(folder: Path) -> None:
    task, _ = opened(folder, OffsetStore(), **{"poll.interval.ms": "60000", "batch.max.rows": "100"})
    assert set(changes(polled(task))) == expected("plain", "lz4")
    task.close()
