"""Checks tables made ready for records: which columns a table gets, if somebody made it and if the sink did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.errors import SchemaError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connectors.bigquery.rows.table_schema import Columns, ColumnSchema, ColumnType
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse.table_facts import NewTable, TableFacts
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.tables_ready import TargetTables

KEY = s.struct({"id": s.INT64})
KEYS = Column.from_arrow(pa.array([{"id": 1}]), KEY)
TEXT = s.struct({"id": s.INT64, "text": s.STRING})


def batch(values: Column) -> Batch:
    """One record."""
    consumed = Consumed(TopicPartition("orders", 0), pa.array([0]), 1)
    return Batch("orders", values, keys=KEYS, timestamps_ms=pa.array([0]), partition=0, consumed=consumed)


DELETE = batch(Column.from_arrow(pa.nulls(1)))
KEY_ALONE = batch(KEYS)
TEXTS = Column.from_arrow(pa.array([{"id": 1, "text": "x"}]), TEXT)
VALUE = batch(TEXTS)


class Tables:
    """What `TargetTables` asks of a dataset, in memory."""

    def __init__(self, *tables: TableFacts) -> None:
        self.tables = {table.name: table for table in tables}

    def relabel(self, name: str, change: Any) -> bool:
        labels = change(self.tables[name].labels)
        if labels is not None:
            self.label(name, labels)
        return labels is not None

    def label(self, name: str, labels: Mapping[str, str]) -> None:
        self.tables[name] = replace(self.tables[name], labels={**self.tables[name].labels, **labels})

    def table(self, name: str) -> TableFacts | None:
        return self.tables.get(name)

    def create(self, table: NewTable) -> bool:
        if table.name in self.tables:
            return False
        self.tables[table.name] = TableFacts(table.name, table.columns, dict(table.labels or {}), "")
        return True

    def change_columns(self, name: str, change: Callable[[Columns], Columns], **_: Any) -> Columns:
        self.tables[name] = replace(self.tables[name], columns=change(self.tables[name].columns))
        return self.tables[name].columns

    def names(self, table: str) -> set[str]:
        return {column.name for column in self.tables[table].columns if not column.name.startswith("_")}


def targets_of(tables: Tables, **settings: str) -> TargetTables:
    given = {"project": "p", "defaultDataset": "d", "dedup.fields": "id", **settings}
    return TargetTables(BigQuerySinkConfig.parse(given), cast("Warehouse", tables))


def test_somebodys_table_of_a_key_alone_gets_no_columns_unless_it_may():
    tables = Tables(TableFacts("orders", (ColumnSchema("id", ColumnType.INTEGER),), {}, ""))
    with pytest.raises(SchemaError, match=r"Table p\.d\.orders does not take the records: it has no column text"):
        targets_of(tables).prepare(VALUE)
    assert tables.names("orders") == {"id"}
    targets_of(tables, allowNewBigQueryFields="true").prepare(VALUE)
    assert tables.names("orders") == {"id", "text"}


def test_a_table_that_was_made_for_deletes_gets_the_columns_of_the_first_values_by_another_task_too():
    tables = Tables()
    targets_of(tables, **{"table.labels": "team:shop"}).prepare(DELETE)
    assert tables.names("orders") == {"id"}
    assert tables.tables["orders"].labels["team"] == "shop"
    targets_of(tables).prepare(VALUE)
    assert tables.names("orders") == {"id", "text"}


def test_a_table_made_for_deletes_that_somebody_drops_takes_values_when_it_is_made_again():
    tables = Tables()
    targets = targets_of(tables)
    buffer = targets.prepare(DELETE).buffer
    del tables.tables["orders"]
    targets.restore(buffer)
    assert targets.prepare(VALUE).buffer is buffer
    assert tables.names("orders") == {"id", "text"}


def test_a_table_that_was_made_for_values_of_a_key_alone_gets_no_columns_unless_it_may():
    tables = Tables()
    targets_of(tables).prepare(KEY_ALONE)
    with pytest.raises(SchemaError, match="it has no column text"):
        targets_of(tables).prepare(VALUE)


@pytest.mark.parametrize(
    ("field", "told"), [("order_id", "have no such field; they have id, text"), ("price", "two floating-point numbers")]
)
def test_a_dedup_field_that_tells_no_rows_apart_is_named_with_its_table(field, told):
    schema = s.struct({"id": s.INT64, "price": s.FLOAT64})
    values = Column.from_arrow(pa.array([{"id": 1, "price": 1.5}]), schema)
    with pytest.raises(SchemaError, match=f"Table p.d.orders: Field '{field}'.*{told}"):
        targets_of(Tables(), **{"dedup.fields": field}).prepare(batch(values if field == "price" else TEXTS))
