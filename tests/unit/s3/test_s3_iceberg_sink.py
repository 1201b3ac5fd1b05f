"""Checks Apache's and Tabular's Iceberg sink by their keys: which catalogue, which tables, each row once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from iceberg_lake import Lake, soon, values

from connect.api import schema as s
from connect.api.errors import ConfigError, RejectedRowsError
from connect.api.records import TopicPartition
from connect.cluster.validation.notes import notes
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.testing.fakes import FakeSinkContext
from connectors.s3.connector import connector
from connectors.s3.iceberg.catalog import properties
from connectors.s3.iceberg.sink import IcebergSinkTask
from connectors.s3.settings.iceberg_sink_config import IcebergSinkConfig

ROW = s.struct({"id": s.INT64, "kind": s.STRING.as_optional()})
ROWS = [{"id": 1, "kind": "a"}, {"id": 2, "kind": "b"}, {"id": 3, "kind": None}, {"id": 4, "kind": "A"}]
PUBLIC = {
    "iceberg.catalog.type": "rest", "iceberg.catalog.uri": "http://host.example:8181",
    "iceberg.catalog.warehouse": "s3://lake/shop/", "iceberg.catalog.client.region": "eu-west-1",
    "iceberg.catalog.s3.endpoint": "http://host.example:9000", "iceberg.catalog.s3.path-style-access": "true",
    "iceberg.catalog.s3.access-key-id": "minio", "iceberg.catalog.s3.secret-access-key": "secret",
    "iceberg.tables": "shop.orders", "iceberg.control.commit.interval-ms": "1000",
}  # fmt: skip


def test_both_class_names_are_here() -> None:
    catalog = Catalog.installed()
    apache = catalog.connector("org.apache.iceberg.connect.IcebergSinkConnector")
    assert catalog.connector("io.tabular.iceberg.connect.IcebergSinkConnector") is apache


def test_a_public_configuration_comes_to_pyicebergs_properties() -> None:
    given = properties(IcebergSinkConfig.parse(PUBLIC))
    assert given.items() >= {
        "type": "rest", "uri": "http://host.example:8181", "warehouse": "s3://lake/shop/", "s3.region": "eu-west-1",
        "s3.endpoint": "http://host.example:9000", "s3.access-key-id": "minio", "s3.secret-access-key": "secret",
    }.items()  # fmt: skip
    assert "s3.force-virtual-addressing" not in given


@pytest.mark.parametrize(
    ("given", "kind", "uri"),
    [
        ({"catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog"}, "glue", ""),
        ({"type": "hive", "uri": "thrift://h:9083"}, "hive", "thrift://h:9083"),
        (
            {"type": "jdbc", "uri": "jdbc:postgresql://h:1/d", "jdbc.user": "u", "jdbc.password": "p/w"},
            "sql", "postgresql+psycopg://u:p%2Fw@h:1/d",
        ),
    ],
)  # fmt: skip
def test_catalogues_have_their_names_of_java(given: dict[str, str], kind: str, uri: str) -> None:
    own = {f"iceberg.catalog.{name}": value for name, value in given.items()}
    config = IcebergSinkConfig.parse({
        "iceberg.tables": "a.b", "iceberg.catalog.warehouse": "s3://lake/x", "iceberg.catalog.s3.endpoint": "http://h",
        **own,
    })  # fmt: skip
    found = properties(config)
    assert (found["type"], found.get("uri", "").partition("?")[0], found["warehouse"]) == (kind, uri, "s3://lake/x")


class Tables:
    """A task of Apache's keys over a warehouse in a folder."""

    def __init__(self, folder: Path, **keys: Any) -> None:
        self.lake = Lake(folder)
        self.config = IcebergSinkConfig.parse({
            "iceberg.catalog.type": "jdbc", "iceberg.catalog.uri": f"jdbc:sqlite:{folder}/catalog.db",
            "iceberg.catalog.warehouse": (folder / "topics").as_uri(), "s3.local.folders": str(folder),
            "iceberg.control.commit.interval-ms": "1", "iceberg.tables.auto-create-enabled": "true",
            **{f"iceberg.{name}": value for name, value in keys.items()},
        })  # fmt: skip
        self.context = FakeSinkContext()
        self.task = IcebergSinkTask(self.config, now_ms=lambda: self.lake.clock_ms)
        self.task.open(self.context)
        self.task.assigned([TopicPartition("orders", 0)])

    def flush(self) -> int:
        return self.lake.flush(self.task)[TopicPartition("orders", 0)]

    def ids(self, table: str) -> list[int]:
        return sorted(self.lake.table(table)["id"].to_pylist())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "topics").mkdir()
    return tmp_path


def test_each_table_gets_all_rows_where_nothing_routes_them(folder: Path) -> None:
    tables = Tables(folder, tables="shop.one,shop.two")
    connector(tables.config).check(Deadline.after(30))
    tables.task.put(values(ROWS, schema=ROW), soon())
    assert tables.flush() == 4
    assert [tables.ids(f"shop.{name}") for name in ("one", "two")] == [[1, 2, 3, 4]] * 2


def test_rows_go_where_their_field_says_and_once_after_a_restart(folder: Path) -> None:
    keys = {
        "tables": "shop.a,shop.b", "tables.route-field": "kind", "table.shop.a.route-regex": "[aA]",
        "table.shop.b.route-regex": "b|a",
    }  # fmt: skip
    for life in range(2):
        tables = Tables(folder, **keys)
        tables.task.put(values(ROWS, schema=ROW), soon())
        assert tables.flush() == 4, f"life {life}"
    assert (tables.ids("shop.a"), tables.ids("shop.b")) == ([1, 4], [1, 2])


def test_the_field_may_be_the_tables_name(folder: Path) -> None:
    tables = Tables(folder, **{"tables.dynamic-enabled": "true", "tables.route-field": "kind"})
    tables.task.put(values([{"id": 1, "kind": "Shop.X"}, {"id": 2, "kind": "shop.y"}], schema=ROW), soon())
    assert tables.flush() == 2
    assert (tables.ids("shop.x"), tables.ids("shop.y")) == ([1], [2])


def test_a_table_that_is_not_there_ends_the_task_unless_it_may_be_made(folder: Path) -> None:
    tables = Tables(folder, tables="shop.one", **{"tables.auto-create-enabled": "false"})
    with pytest.raises(ConfigError, match=r"There is no table shop.one.*auto-create-enabled=true"):
        tables.task.put(values(ROWS, schema=ROW), soon())


def test_a_route_fields_value_has_its_text_of_java(folder: Path) -> None:
    tables = Tables(folder, **{
        "tables": "shop.yes,shop.half", "tables.route-field": "at.kind", "table.shop.yes.route-regex": "true",
        "table.shop.half.route-regex": r"0\.1|1\.0E10",
    })  # fmt: skip
    tables.task.put(values([{"id": n, "at": {"kind": kind}} for n, kind in enumerate([True, False])]), soon())
    row = s.struct({"id": s.INT64, "at": s.struct({"kind": s.FLOAT32})})
    floats = [{"id": n, "at": {"kind": kind}} for n, kind in enumerate([0.1, 1e10, 0.5])]
    tables.task.put(values(floats, start=2, schema=row), soon())
    assert tables.flush() == 5
    assert (tables.ids("shop.yes"), tables.ids("shop.half")) == ([0], [0, 1])


def test_rows_of_a_table_that_is_not_there_are_left_out_with_a_note(folder: Path, caplog) -> None:
    keys = {"tables.dynamic-enabled": "true", "tables.route-field": "kind"}
    former = Tables(folder, **keys)
    former.task.put(values([{"id": 1, "kind": "shop.x"}], schema=ROW), soon())
    assert former.flush() == 1
    tables = Tables(folder, **keys, **{"tables.auto-create-enabled": "false"})
    for first in (1, 4):
        kinds = ["shop.gone", "shop.x", "none.at.all"]
        rows = [{"id": first + n, "kind": kind} for n, kind in enumerate(kinds)]
        tables.task.put(values(rows, start=first, schema=ROW), soon())
        assert tables.flush() == first + 3
    assert tables.ids("shop.x") == [1, 2, 5]
    (note,) = tables.context.noted
    assert note == "Rows of tables that are not there, left out: 4. The last one: none.at.all."
    told = [record.message for record in caplog.records if "no table" in record.message]
    assert [text.partition(":")[0] for text in told] == ["There is no table shop.gone", "There is no table none.at.all"]


def test_a_table_that_was_made_meanwhile_gets_its_rows(folder: Path) -> None:
    keys = {"tables.dynamic-enabled": "true", "tables.route-field": "kind"}
    tables = Tables(folder, **keys, **{"tables.auto-create-enabled": "false"})
    tables.task.put(values([{"id": 1, "kind": "shop.x"}], schema=ROW), soon())
    assert tables.flush() == 1
    other = Tables(folder, **keys)
    other.task.put(values([{"id": 0, "kind": "shop.x"}], schema=ROW), soon())
    other.flush()
    tables.task.put(values([{"id": 2, "kind": "shop.x"}], start=1, schema=ROW), soon())
    assert tables.flush() == 2
    assert tables.ids("shop.x") == [0, 2]


@pytest.mark.parametrize("create", ["true", "false"])
def test_a_value_that_names_no_table_is_a_bad_row(folder: Path, create: str) -> None:
    keys = {"tables.dynamic-enabled": "true", "tables.route-field": "kind", "tables.auto-create-enabled": create}
    tables = Tables(folder, **keys)
    rows = [{"id": n, "kind": kind} for n, kind in enumerate(["orders", None, "shop..x", "", "shop."])]
    with pytest.raises(RejectedRowsError, match="namespace") as refused:
        tables.task.put(values(rows, schema=ROW), soon())
    assert list(refused.value.rows) == [0, 2, 3, 4]
    assert tables.task.flush(soon()) == {TopicPartition("orders", 0): 5}


def test_a_bad_row_of_a_route_is_told_by_its_place_in_the_batch(folder: Path) -> None:
    first = Tables(folder, tables="shop.a", **{"tables.route-field": "kind", "table.shop.a.route-regex": "a"})
    first.task.put(values([{"id": 1, "kind": "a"}], schema=ROW), soon())
    assert first.flush() == 1
    wider = [{"id": 2, "kind": "b"}, {"id": "three", "kind": "a"}]
    with pytest.raises(RejectedRowsError) as refused:
        first.task.put(values(wider, start=1), soon())
    assert list(refused.value.rows) == [1]


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"iceberg.tables": ""}, "iceberg.tables"),
        ({"iceberg.tables": "orders"}, "iceberg.tables"),
        ({"iceberg.tables.dynamic-enabled": "true"}, "iceberg.tables.route-field"),
        ({"iceberg.table.shop.orders.route-regex": "("}, "iceberg.table.shop.orders.route-regex"),
        ({"iceberg.tables.upsert-mode-enabled": "true"}, "iceberg.tables.upsert-mode-enabled"),
        ({"iceberg.tables.cdc-field": "_cdc"}, "iceberg.tables.cdc-field"),
        ({"iceberg.tables.default-commit-branch": "audit"}, "iceberg.tables.default-commit-branch"),
        ({"iceberg.table.shop.orders.commit-branch": "audit"}, "iceberg.table.shop.orders.commit-branch"),
        ({"iceberg.catalog.type": "hadoop"}, "iceberg.catalog.type"),
        ({"iceberg.catalog.type": "glue", "iceberg.catalog.warehouse": ""}, "iceberg.catalog.warehouse"),
    ],
)
def test_what_cannot_run_is_refused_at_its_own_key(given: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError) as refused:
        IcebergSinkConfig.parse({**PUBLIC, **given})
    assert [problem.key for problem in refused.value.problems] == [key]


def test_keys_of_one_table_that_change_nothing_are_noted() -> None:
    of_table = {
        "commit-branch": "main", "route-regex": "a", "partition-by": "day(at)", "id-columns": "id",
    }  # fmt: skip
    given = PUBLIC | {f"iceberg.table.shop.orders.{name}": value for name, value in of_table.items()}
    given["iceberg.tables.default-commit-branch"] = "main"
    plugin = Catalog.installed().connector("org.apache.iceberg.connect.IcebergSinkConnector")
    told = [note for note in notes(plugin, given, ()) if "iceberg.table" in note]
    assert [note.partition(":")[0].rpartition(".")[2] for note in told] == ["partition-by", "id-columns"]
    assert all("no effect" in note for note in told)


def test_tombstones_are_left_out_as_in_java(folder: Path) -> None:
    tables = Tables(folder, tables="shop.one")
    tables.task.put(values([ROWS[0], None, ROWS[1]], schema=ROW.as_optional()), soon())
    assert tables.flush() == 3
    assert tables.ids("shop.one") == [1, 2]
