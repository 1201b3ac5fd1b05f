"""Checks what the source's task makes of nodes that refuse a table, and of pages that do not come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest

from connect.api.errors import RetriableError
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext
from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.errors import TableGoneError
from connectors.cassandra.cql.owners import NO_NODES, OwnedPart
from connectors.cassandra.cql.pages import Page
from connectors.cassandra.cql.retries import NextNodeRetries
from connectors.cassandra.cql.schema_reader import Schemas
from connectors.cassandra.cql.statements import as_long
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.source import task as task_module
from connectors.cassandra.source.config import CassandraTaskConfig
from connectors.cassandra.source.task import CassandraSourceTask

TABLE = Table(UUID(int=1), "ks", "t", [TableColumn("k", CqlType("int"))])
ROW = b"\x00\x00\x00\x08" + as_long(5) + b"\x00\x00\x00\x04" + (7).to_bytes(4, "big")
REFUSED = TableGoneError("table t does not exist")
SILENT = "silent"


class Nodes:
    """A cluster that answers each question as a test says: a page, an error, or not at all."""

    def __init__(self, *answers: Page | Exception | str, agree: tuple[bool, ...] = ()) -> None:
        self._answers = list(answers)
        self._agree = list(agree)

    def ask(self, query: object, rows: int, state: bytes | None) -> Nodes:
        return self

    def when_done(self, ring: Callable[[], None]) -> None:
        if self._answers[0] == SILENT:
            self._answers.pop(0)
            self.ring = ring
        else:
            ring()

    def page(self) -> Page:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, Page)
        return answer

    def owned_parts(self, keyspace: str, after: int, upto: int) -> list[OwnedPart]:
        return [OwnedPart(upto, NO_NODES)]

    def nodes_agree(self) -> bool:
        return self._agree.pop(0)

    def rows(self, query: str, parameters: object = (), *, doing: str) -> list[tuple[str]]:
        assert "partitioner" in query
        return [("org.apache.cassandra.dht.Murmur3Partitioner",)]

    def close(self) -> None: ...


@contextmanager
def opened(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch, broken: Mapping[str, str] = MappingProxyType({}), **more: str
) -> Iterator[tuple[CassandraSourceTask, FakeSourceContext]]:
    monkeypatch.setattr(task_module, "Database", lambda config: nodes)
    monkeypatch.setattr(task_module, "read_schemas", lambda database: Schemas([TABLE], broken))
    settings = {"contact.points": "127.0.0.1", "keyspace": "ks", "table.splits": "1", "share": "0", "share.of": "1"}
    settings |= more
    task, context = CassandraSourceTask(CassandraTaskConfig.parse(settings)), FakeSourceContext()
    task.open(context)
    yield task, context
    task.close()


def keys(task: CassandraSourceTask) -> list[Any]:
    batch = task.poll(Deadline.after(0.2))
    return [] if batch is None else [row["k"] for row in batch.values.rows()]


def test_a_table_that_one_node_has_not_heard_of_is_read_from_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Nodes(REFUSED, REFUSED, Page(ROW, 1, 2), agree=(False, True))
    with opened(nodes, monkeypatch) as (task, context):
        with pytest.raises(RetriableError, match="nodes do not agree on the tables there are: table t does not exist"):
            keys(task)
        assert keys(task) == [7]
        assert context.explained is None


def test_a_table_that_is_refused_by_nodes_that_agree_is_left_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Nodes(REFUSED, REFUSED, agree=(True,))
    with opened(nodes, monkeypatch) as (task, context):
        assert keys(task) == []
        assert context.explained == "table ks.t is left aside: table t does not exist"
        assert context.gauges["splits_left"] == 0
        assert context.is_behind, "its rows are not in Kafka"
        assert "source_lag_rows" not in context.gauges


def test_a_split_that_rests_until_its_next_sweep_is_not_left_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    seldom = {"mode": "bulk", "poll.interval.ms": "60000"}
    with opened(Nodes(Page(ROW, 1, 2)), monkeypatch, **seldom) as (task, context):
        assert keys(task) == [7]
        assert context.gauges["splits_left"] == 1
        assert keys(task) == []
        assert context.gauges["splits_left"] == 0


def test_the_source_is_behind_until_its_last_page_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(Nodes(Page(ROW, 1, 2)), monkeypatch) as (task, context):
        assert context.is_behind
        assert "source_lag_rows" not in context.gauges, "nobody knows how many there are"
        batch = task.poll(Deadline.after(0.2))
        assert batch is not None
        assert batch.position is not None
        assert context.is_behind, "Kafka does not have the row yet"
        task.stored([batch.position])
        assert not context.is_behind
        assert context.gauges["source_lag_rows"] == 0


def test_a_source_is_behind_while_a_table_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(Nodes(Page(ROW, 1, 2)), monkeypatch, {"ks.other": "its type is not known"}) as (task, context):
        batch = task.poll(Deadline.after(0.2))
        assert batch is not None
        assert batch.position is not None
        task.stored([batch.position])
        assert context.is_behind, "rows of the other table are not in Kafka"
        assert "source_lag_rows" not in context.gauges


def test_a_page_that_is_late_is_told_of_until_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_module, "LATE_S", 0.1)
    nodes = Nodes(SILENT, Page(ROW, 1, 2))
    with opened(nodes, monkeypatch) as (task, context):
        assert keys(task) == []
        assert context.explained == "a page of table ks.t takes more than 0.1 s: see whether all nodes are up"
        nodes.ring()
        assert keys(task) == [7]
        assert context.explained is None


def test_another_node_is_asked_where_one_fails_but_only_one_more_where_replicas_are_slow() -> None:
    policy = NextNodeRetries()
    failed, slow = NextNodeRetries.RETRY_NEXT_HOST, {"consistency": 6, "required_responses": 2, "received_responses": 1}
    assert policy.on_request_error(None, 6, error=ConnectionError(), retry_num=5)[0] == failed
    assert policy.on_unavailable(None, 6, 2, 1, retry_num=1)[0] == failed
    assert policy.on_read_timeout(None, data_retrieved=False, retry_num=0, **slow)[0] == failed
    assert policy.on_read_timeout(None, data_retrieved=False, retry_num=1, **slow)[0] == NextNodeRetries.RETHROW
    assert policy.on_write_timeout(None, 6, "SIMPLE", 2, 1, retry_num=0)[0] == NextNodeRetries.RETHROW
