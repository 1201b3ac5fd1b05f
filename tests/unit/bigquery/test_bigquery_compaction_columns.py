"""Columns that come while a log is compacted: no value of a batch is lost, wherever it comes, and the order counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from bigquery_oracle import VALUE, Message, batch_of
from drawn_cases import quick_first
from plain_bigquery import PlainBigQuery, sql_of
from test_bigquery_compaction import Life, Prompt, shown

from connect.api import schema as s
from connect.api.errors import RetriableError
from connect.api.records import Batch, Column
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.write.intake import taken_in
from connectors.bigquery.write.tables_ready import TargetTables

GROWS = {"allowNewBigQueryFields": "true"}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> PlainBigQuery:
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    return PlainBigQuery(Prompt(1))


def with_values(
    messages: Sequence[Message], fields: Mapping[str, s.Schema], rows: Sequence[Mapping[str, Any]]
) -> Batch:
    """Records of further fields."""
    members = {field.name: field.schema for field in VALUE.fields}
    schema = s.struct({**members, **fields}, optional=True)
    values = [{**(message.value or {}), **row} for message, row in zip(messages, rows, strict=True)]
    return replace(batch_of(messages), values=Column.from_rows(values, schema))


def load(life: Life, batch: Batch) -> None:
    assert batch.consumed is not None
    for buffer, admitted in taken_in(batch, TargetTables(life.config, life.warehouse)).parts:
        buffer.take(batch.consumed.topic_partition, admitted, 0.0)
        assert not life.writer.write(buffer.seal())


def collect(life: Life) -> None:
    """Compact, also where somebody changed the log's description at the same moment."""
    for _ in range(3):
        try:
            life.writer.collect()
        except RetriableError as error:
            if "changed it meanwhile" not in str(error):
                raise
        else:
            return
    raise AssertionError("it does not go on")


def names_of(service: PlainBigQuery) -> list[tuple[int, str]]:
    return sorted((row["id"], row.get("name")) for row in service.rows("orders"))


@pytest.mark.parametrize("part", quick_first(2, of=4))
def test_a_column_that_comes_at_any_request_of_a_compaction_keeps_its_values(part, monkeypatch):
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    grown = with_values([Message(0, 9, 9, 9)], {"name": s.STRING.as_optional()}, [{"name": "nine"}])
    came = 0
    for at in range(part + 1, 60, 4):
        service, asked = PlainBigQuery(Prompt(1)), [0]
        first = Life(service, **GROWS)
        first.load([Message(0, 1, 1, 1), Message(0, 2, 2, 2)])

        def look(service: PlainBigQuery = service, asked: list[int] = asked, at: int = at) -> None:
            asked[0] += 1
            if asked[0] == at:
                load(Life(service, **GROWS), grown)

        first.client.look = look
        collect(first)
        first.client.look = lambda: None
        if asked[0] < at:
            break
        came += 1
        last = Life(service, **GROWS)
        last.load([Message(0, 10, 10, 10)])
        last.writer.collect()
        assert [row for row in names_of(service) if row[0] == 9] == [(9, "nine")], f"it came at request {at}"
    assert came >= 3


@pytest.mark.parametrize("part", quick_first(2, of=4))
def test_a_tombstone_without_an_order_that_comes_at_any_request_of_a_compaction_counts(part, monkeypatch):
    """The order is changed meanwhile, so that the log gets the mark of such tombstones."""
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    by_version = {**GROWS, "dedup.order.by": "version"}
    for at in range(part + 1, 60, 4):
        service, asked = PlainBigQuery(Prompt(1)), [0]
        first = Life(service, **GROWS)
        first.load([Message(0, 1, 1, 1, version=5)])
        first.writer.collect()
        first.load([Message(0, 2, 2, 2, version=5)])

        def look(service: PlainBigQuery = service, asked: list[int] = asked, at: int = at) -> None:
            asked[0] += 1
            if asked[0] == at:
                Life(service, **by_version).load([Message(0, 3, 1, 0, text=None)])

        first.client.look = look
        collect(first)
        first.client.look = lambda: None
        if asked[0] < at:
            break
        last = Life(service, **by_version)
        last.load([Message(0, 10, 10, 10)])
        last.writer.collect()
        assert shown(service, "orders") == [(2, "x"), (10, "x")], f"it came at request {at}"


def test_a_table_that_was_made_anew_with_names_of_another_case_gets_the_values_of_its_log(service):
    named = {"Name": s.STRING.as_optional()}
    life = Life(service, **GROWS)
    load(life, with_values([Message(0, 1, 1, 1)], {"name": s.STRING.as_optional()}, [{"name": "one"}]))
    service.drop("orders")
    second = Life(service, **GROWS)
    load(second, with_values([Message(0, 2, 2, 2)], named, [{"Name": "two"}]))
    second.writer.collect()
    assert sorted((row["id"], row["Name"]) for row in service.rows("orders")) == [(1, "one"), (2, "two")]


def test_a_task_that_has_seen_deletes_alone_merges_by_the_whole_order(service):
    by_version = {**GROWS, "dedup.order.by": "version", "dedup.delete": "tombstone"}
    first = Life(service, **by_version)
    load(first, replace(batch_of([Message(0, 0, 8, 0, text=None)]), values=Column.nulls(1)))
    second = Life(service, **by_version)
    second.load(
        [Message(1, 1, 1, time_s=1, version=9, text="newest"), Message(1, 2, 1, time_s=2, version=3, text="old")]
    )
    first.writer.collect()
    assert shown(service, "orders") == [(1, "newest")]


def test_a_new_member_of_a_record_comes_into_the_log_and_the_view(service):
    def record(*names: str) -> dict[str, s.Schema]:
        return {"r": s.struct(dict.fromkeys(names, s.INT64.as_optional()), optional=True)}

    life = Life(service, **GROWS)
    load(life, with_values([Message(0, 1, 1, 1)], record("a"), [{"r": {"a": 1}}]))
    load(life, with_values([Message(0, 2, 2, 2)], record("a", "b"), [{"r": {"a": 2, "b": 3}}]))
    wanted = [(1, {"a": 1, "b": None}), (2, {"a": 2, "b": 3})]
    assert sorted((row["id"], row["r"]) for row in service.rows("orders_latest")) == wanted
    life.writer.collect()
    assert sorted((row["id"], row["r"]) for row in service.rows("orders")) == wanted


def test_a_log_keeps_the_values_of_a_column_that_the_table_lost(service):
    """Somebody dropped the column, so its values have no place in the table."""
    columns = {"name": s.STRING.as_optional(), "spare": s.STRING.as_optional()}
    life = Life(service, **GROWS)
    load(life, with_values([Message(0, 1, 1, 1)], columns, [{"name": "one", "spare": None}]))
    fields = service.tables["orders"].resource["schema"]["fields"]
    for lost in ("name", "spare"):
        service.database.execute(f'ALTER TABLE {sql_of("orders")} DROP COLUMN "{lost}"')
        service.tables["orders"].resource["schema"]["fields"] = [f for f in fields if f["name"] != lost]
        fields = service.tables["orders"].resource["schema"]["fields"]
    with pytest.raises(RetriableError, match="orders has no column name,"):
        life.writer.collect()
    assert [row["name"] for row in service.rows("_orders_log")] == ["one"]
    service.database.execute(f'ALTER TABLE {sql_of("orders")} ADD COLUMN "name" VARCHAR')
    fields.append({"name": "name", "type": "STRING", "mode": "NULLABLE"})
    collect(life)
    assert names_of(service) == [(1, "one")]
    assert service.rows("_orders_log") == []
