"""Checks dedup.fields in every place of a record: members of the value, the key, headers, coordinates. In DuckDB."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from bigquery_sql import quoted

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import SchemaError
from connect.api.records import Batch, Column, Consumed, Header, TopicPartition
from connectors.bigquery.dedup.dedup_values import own_columns
from connectors.bigquery.dedup.merge_sql import Merge
from connectors.bigquery.dedup.rules import IS_APPEND, IS_DELETE, placed
from connectors.bigquery.dedup.staged_rows import Admission
from connectors.bigquery.rows.paths import schema_of
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.tables.table_columns import value_columns

KEY = s.struct({"region": s.STRING, "shop": s.INT32})
VALUE = s.struct({"order": s.struct({"id": s.INT64, "score": s.FLOAT64}), "text": s.STRING})


@dataclass(frozen=True)
class Sale:
    """A record; `tenant` is its header, `text` names its place."""

    topic: str
    partition: int
    offset: int
    time_ms: int
    id: int
    region: str
    shop: int
    tenant: str | bytes | None

    @property
    def text(self) -> str:
        return f"{self.topic}-{self.partition}@{self.offset}"

    @property
    def order(self) -> tuple[Any, ...]:
        return (self.time_ms, self.partition, self.offset, self.topic)


PLACES: Mapping[str, Callable[[Sale], Any]] = {
    "order.id": lambda sale: sale.id,
    "__key": lambda sale: (sale.region, sale.shop),
    "__key.region": lambda sale: sale.region,
    "__header.tenant": lambda sale: sale.tenant,
    "__topic": lambda sale: sale.topic,
    "__partition": lambda sale: sale.partition,
    "__offset": lambda sale: sale.offset,
}


def sales() -> list[list[Sale]]:
    """Runs of records of one partition each, equal in few values of every place."""
    chance = random.Random(9)

    def sale(topic: str, partition: int, offset: int) -> Sale:
        time_ms, number, region = chance.randrange(6), chance.randrange(3), chance.choice("xy")
        return Sale(topic, partition, offset, time_ms, number, region, chance.randrange(2), chance.choice("tu"))

    places = [(topic, partition, start) for topic in "ab" for partition in range(2) for start in (0, 8)]
    chance.shuffle(places)
    return [[sale(topic, partition, start + number) for number in range(8)] for topic, partition, start in places]


def batch_of(run: Sequence[Sale]) -> Batch:
    values = [{"order": {"id": sale.id, "score": 0.5}, "text": sale.text} for sale in run]
    keys = [{"region": sale.region, "shop": sale.shop} for sale in run]
    place = TopicPartition(run[0].topic, run[0].partition)
    return Batch(
        place.topic,
        values=Column.from_arrow(pa.array(values, arrow_type(VALUE)), VALUE),
        keys=Column.from_arrow(pa.array(keys, arrow_type(KEY)), KEY),
        headers=[() if sale.tenant is None else (Header("tenant", sale.tenant),) for sale in run],
        timestamps_ms=pa.array([sale.time_ms for sale in run], pa.int64()),
        partition=place.partition,
        consumed=Consumed(place, pa.array([sale.offset for sale in run], pa.int64()), run[-1].offset + 1),
    )


def admission_of(fields: str, batch: Batch, null_key: str = "dlq") -> Admission:
    given = {"project": "p", "defaultDataset": "d", "dedup.fields": fields, "dedup.null.key": null_key}
    config = BigQuerySinkConfig.parse(given)
    columns = placed(config.dedup, config.field_names, schema_of(batch.keys) if batch.keys is not None else None)
    own = own_columns(columns, config.dedup, batch, config.type_rules)
    table = (*(column.relaxed() for column in value_columns(batch, config.type_rules)), *own)
    return Admission(table, config.dedup, columns, config.field_names)


@pytest.mark.parametrize("fields", [*PLACES, "order.id,__key.region,__header.tenant", "__topic,__partition,__offset"])
def test_records_that_are_equal_in_the_named_places_are_one_row(fields):
    runs = sales()
    admission = admission_of(fields, batch_of(runs[0]))
    database = duckdb.connect()
    database.execute("SET threads = 1")
    for half in (runs[:4], runs[4:]):
        names = [f"staged_{number}" for number in range(len(half))]
        for name, run in zip(names, half, strict=True):
            rows = admission.admit(batch_of(run)).rows
            database.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM rows")
            del rows
        marks = f"{quoted(IS_DELETE)}, {quoted(IS_APPEND)}"
        database.execute(f"CREATE TABLE IF NOT EXISTS target AS SELECT * EXCLUDE ({marks}) FROM staged_0 LIMIT 0")
        database.execute(merge_of(admission, names).text())
    model: dict[Any, Sale] = {}
    for sale in (sale for run in runs for sale in run):
        key = tuple(PLACES[place](sale) for place in fields.split(","))
        if key not in model or sale.order > model[key].order:
            model[key] = sale
    found = [text for (text,) in database.sql("SELECT text FROM target").fetchall()]
    assert sorted(found) == sorted(sale.text for sale in model.values())


def merge_of(admission: Admission, staged: Sequence[str]) -> Merge:
    names = tuple(column.name for column in admission.table)
    keys = tuple(placed.column for placed in admission.columns.keys)
    order = tuple(placed.column for placed in admission.columns.order)
    return Merge("target", tuple(staged), names, keys, order, frozenset(names), quote=quoted)


def test_a_record_without_the_header_is_a_bad_one():
    run = [Sale("a", 0, 0, 0, 1, "x", 1, "t"), Sale("a", 0, 1, 0, 2, "x", 1, None)]
    admitted = admission_of("__header.tenant", batch_of(run)).admit(batch_of(run))
    assert len(admitted.rows) == 1
    assert "a-0@1: the record has no __header.tenant" in str(admitted.bad[1])


@pytest.mark.parametrize("null_key", ["fail", "dlq", "append"])
def test_a_header_that_is_no_text_is_one_bad_row(null_key):
    run = [Sale("a", 0, number, 0, number, "x", 1, tenant) for number, tenant in enumerate([b"t", b"\xff", b"u"])]
    batch = batch_of(run)
    admitted = admission_of("__header.tenant", batch, null_key).admit(batch)
    assert admitted.offsets.to_pylist() == [0, 2]
    assert list(admitted.bad) == [1]
    assert "a-0@1: __header.tenant is not UTF-8 text" in str(admitted.bad[1])


@pytest.mark.parametrize(("fields", "told"), [("order.score", "is a float64"), ("order", "Name its members")])
def test_a_member_whose_values_are_not_compared_is_refused(fields, told):
    batch = batch_of(sales()[0])
    with pytest.raises(SchemaError, match=told) as refused:
        admission_of(fields, batch).admit(batch)
    assert fields in str(refused.value)
