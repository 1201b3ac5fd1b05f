"""A table whose rows were told apart by other fields, or by none, takes no records that would become doubles."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pytest
from bigquery_oracle import Message, batch_of
from plain_bigquery import DATASET, PROJECT, PlainBigQuery, sql_of
from plain_bigquery_client import PlainClient
from test_bigquery_compaction import Life, Prompt

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.errors import ConfigError, RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connectors.bigquery.dedup.sealed_batch import SealedBatch
from connectors.bigquery.dedup.side_tables import KEYS_LABEL
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.warehouse.warehouse import Warehouse
from connectors.bigquery.write.intake import taken_in
from connectors.bigquery.write.tables_ready import TargetTables

VALUE = s.struct({"id": s.INT64, "region": s.STRING, "place": s.struct({"a": s.INT64, "b": s.INT64})})
OTHER_FIELDS = [
    ("id", "id,region"),
    ("id,region", "region"),
    ("id", "place.a"),
    ("place.a", "place.b"),
    ("place.a,place.b", "place.b,place.a"),
    ("__key.id", "__key.region"),
]


def _batch() -> Batch:
    """Return one record."""
    row = {"id": 1, "region": "eu", "place": {"a": 2, "b": 3}}
    column = Column.from_arrow(pa.array([row], arrow_type(VALUE)), VALUE)
    consumed = Consumed(TopicPartition("orders", 0), pa.array([0]), 1)
    return Batch("orders", column, keys=column, timestamps_ms=pa.array([0]), partition=0, consumed=consumed)


class Tables:
    """The table that a task finds, and makes ready for a record."""

    def __init__(self) -> None:
        self.service = PlainBigQuery(random.Random(1))
        self.warehouse = Warehouse(PlainClient(self.service), PROJECT, DATASET, timeout_s=1)

    def prepare(self, fields: str, settings: Mapping[str, str] | None = None) -> None:
        """Make the table ready as a new task does that has these dedup fields."""
        given = {
            "project": PROJECT, "defaultDataset": DATASET, "dedup.fields": fields, "dedup.mode": "merge",
            **(settings or {}),
        }  # fmt: skip
        TargetTables(BigQuerySinkConfig.parse(given), self.warehouse).prepare(_batch())

    def add_row(self) -> None:
        """Add a row, as a merge does, which notes its keys before."""
        labels = self.service.tables["orders"].resource.setdefault("labels", {})
        if KEYS_LABEL in labels:
            labels[KEYS_LABEL] = labels[KEYS_LABEL].removeprefix("new-")
        self.service.database.execute(f"INSERT INTO {sql_of('orders')} (id) VALUES (1)")
        self.service.tables["orders"].version += 1

    def rename(self, column: str) -> None:
        """Give a column another name, as somebody does."""
        (found,) = [one for one in self.service.tables["orders"].resource["schema"]["fields"] if one["name"] == column]
        found["name"] = "other"
        self.service.database.execute(f"ALTER TABLE {sql_of('orders')} RENAME {column} TO other")


@pytest.fixture
def tables() -> Tables:
    return Tables()


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)


@pytest.mark.parametrize(("before", "now"), OTHER_FIELDS)
def test_rows_that_were_told_apart_by_other_fields_are_not_doubled(tables, before, now):
    tables.prepare(before)
    tables.add_row()
    tables.prepare(before)
    with pytest.raises(ConfigError, match=rf"(?s)orders.*other fields than dedup.fields={now}.*{KEYS_LABEL}"):
        tables.prepare(now)


def test_fields_may_change_while_a_table_has_no_rows(tables):
    for fields in ("id", "place.a", "place.b"):
        tables.prepare(fields)
    tables.add_row()
    tables.prepare("place.b")
    with pytest.raises(ConfigError):
        tables.prepare("place.a")


def test_the_order_in_which_columns_are_named_says_nothing(tables):
    tables.prepare("id,region")
    tables.add_row()
    tables.prepare("region,id")


@pytest.mark.parametrize("fields", ["place.a", "__key.id"])
def test_rows_of_somebody_else_that_lack_the_column_of_a_key_are_not_doubled(tables, fields):
    tables.prepare("", {"dedup.mode": "none"})
    tables.add_row()
    with pytest.raises(ConfigError, match=r"(?s)orders.*has rows and no column _dedup_key_1.*ALTER TABLE.*UPDATE"):
        tables.prepare(fields)
    assert "_dedup_key_1" not in {column.name for column in tables.warehouse.table("orders").columns}


@pytest.mark.parametrize(("others", "name"), [({}, "id"), ({"kafkaKeyFieldName": "record_key"}, "record_key.id")])
def test_rows_whose_key_column_somebody_has_renamed_are_not_doubled(tables, others, name):
    fields = {"allowNewBigQueryFields": "true", "allowBigQueryRequiredFieldRelaxation": "true", **others}
    key = "__key.id" if others else "id"
    tables.prepare(key, fields)
    tables.add_row()
    tables.prepare(key, fields)
    tables.rename(name.partition(".")[0])
    with pytest.raises(ConfigError, match=rf"(?s)orders has rows and no column {name}.*RENAME COLUMN"):
        tables.prepare(key, fields)


def test_an_order_that_stands_in_a_column_of_its_own_is_not_compared_with_another_field(tables):
    tables.prepare("id", {"dedup.order.by": "place.a"})
    tables.add_row()
    tables.prepare("id", {"dedup.order.by": "region"})
    with pytest.raises(ConfigError, match=r"_dedup_order_1 of table p.d.orders.*dedup.order.by=place.b"):
        tables.prepare("id", {"dedup.order.by": "place.b"})


class Merges:
    """A process that merges by some fields, and has the rows of a record ready."""

    def __init__(self, service: PlainBigQuery, fields: str, look: Callable[[], None] = lambda: None) -> None:
        self.life = Life(service, look, **{"dedup.mode": "merge", "dedup.fields": fields})

    def prepared(self, message: Message) -> SealedBatch:
        """Make the table ready, and return the row."""
        batch = batch_of([message])
        assert batch.consumed is not None
        ((buffer, admitted),) = taken_in(batch, TargetTables(self.life.config, self.life.warehouse)).parts
        buffer.take(batch.consumed.topic_partition, admitted, 0.0)
        return buffer.seal()


def ends_well(act: Callable[[], object]) -> bool:
    """Do what is done again where it fails for now; False where it is refused."""
    for _ in range(20):
        try:
            act()
        except RetriableError:
            continue
        except ConfigError:
            return False
        return True
    raise AssertionError("it never ends")


def merged_by_one_at(request: int, had: Sequence[Message], *, has_rows_of_others: bool = False) -> bool:
    """Let a process merge by its fields behind a request of one that comes with others; exactly one may.

    `had`: what the former has merged before. False where the latter asks less often.
    """
    service = PlainBigQuery(Prompt(1))
    if has_rows_of_others:
        Life(service, **{"dedup.mode": "none", "dedup.fields": ""}).load([Message(0, 0, 5, 0)])
    before = Merges(service, "id")
    for message in had:
        before.life.load([message])
    row = before.prepared(Message(0, 9, 7, 5))
    left, outcomes = [request], list[bool]()

    def look() -> None:
        left[0] -= 1
        if left[0] == -1:
            outcomes.append(ends_well(lambda: before.life.writer.write(row)))

    later = Merges(service, "region", look)
    outcomes.append(ends_well(lambda: later.life.load([Message(1, 0, 8, 6)])))
    if left[0] >= 0:
        outcomes.append(ends_well(lambda: before.life.writer.write(row)))
    assert outcomes.count(True) == 1, f"{outcomes}, behind request {request}"
    return left[0] < 0


EMPTIED = [Message(0, 0, 7, 0), Message(0, 1, 7, 1, text=None)]


@pytest.mark.parametrize(("had", "request_number"), [([], 4), (EMPTIED, 2), (EMPTIED, 6)])
def test_who_merges_by_other_fields_than_the_table_was_made_ready_for_is_refused(had, request_number):
    assert merged_by_one_at(request_number, had)


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize("had", [[], EMPTIED], ids=["new", "emptied"])
def test_one_of_two_that_merge_by_other_fields_is_refused_whichever_comes_first(had):
    number = 0
    while merged_by_one_at(number, had):
        number += 1
    assert number > 10


def test_fields_may_change_until_a_row_was_merged_by_them_also_where_somebody_elses_rows_are_there():
    assert merged_by_one_at(0, [], has_rows_of_others=True)
    assert not merged_by_one_at(1000, [], has_rows_of_others=True)


def test_a_table_that_is_made_again_while_rows_are_merged_is_labelled_as_before():
    service = PlainBigQuery(Prompt(1))
    one = Merges(service, "id")
    targets = TargetTables(one.life.config, one.life.warehouse)
    ((buffer, _),) = taken_in(batch_of([Message(0, 0, 7, 0)]), targets).parts
    service.drop("orders")
    targets.restore(buffer)
    assert not service.tables["orders"].resource["labels"][KEYS_LABEL].startswith("new-")


@pytest.mark.parametrize(
    ("given", "sent"),
    [("10m", "0-0 0 0:10:0"), ("90s", "0-0 0 0:1:30"), ("5h", "0-0 0 5:0:0"), ("1d", "0-0 0 24:0:0"), ("none", None)],
)
def test_a_new_table_of_changes_is_as_stale_for_queries_as_is_wanted(tables, given, sent):
    tables.prepare("id", {"dedup.mode": "cdc", "dedup.max.staleness": given})
    assert tables.service.tables["orders"].resource.get("maxStaleness") == sent
