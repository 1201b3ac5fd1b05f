"""Checks what is said of tables whose first read may give rows again, and which tables it is said of."""

from __future__ import annotations

from pathlib import Path

import pytest

from connectors.jdbc.log.mysql.first_read_repeats import of_order
from connectors.jdbc.log.mysql.row_order import OrderColumn, RowOrder
from connectors.jdbc.log.shared.repeated_rows import of_key
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.types import Raw

TABLE = TableName("db", "t")
ID, KIND = OrderColumn("id", "int", Raw.INTEGER), OrderColumn("kind", "enum", Raw.TEXT)
NUMBER, CLOCK = OrderColumn("n", "double", Raw.FLOAT), OrderColumn("c", "time", Raw.TIME)
LIKES = "among more than max.batch.size=500 rows that are alike, they come again"
APART = "a delete and a create apart from each other, and an older version of a row behind a newer one"


@pytest.mark.parametrize("key", [("id",), ("kind",), ("kind", "id")])
def test_nothing_is_said_where_the_key_tells_rows_apart(key: tuple[str, ...]) -> None:
    assert of_order(TABLE, key, RowOrder.of([ID, KIND, NUMBER], key), 500) is None
    assert of_key(TABLE, key, 500) is None


@pytest.mark.parametrize("key", [(), ("c",), ("c", "id")])
def test_rows_that_are_alike_in_what_is_compared_may_come_again(key: tuple[str, ...]) -> None:
    said = of_order(TABLE, key, RowOrder.of([ID, KIND, NUMBER, CLOCK], key), 500)
    assert said is not None
    assert all(
        part in said for part in ("table db.t", LIKES, APART, "columns id, kind", "primary key", "max.batch.size")
    )


@pytest.mark.parametrize("key", [(), ("c",)])
def test_all_rows_may_come_again_where_nothing_can_be_compared(key: tuple[str, ...]) -> None:
    said = of_order(TABLE, key, RowOrder.of([NUMBER, CLOCK], key), 500)
    assert said is not None
    assert all(part in said for part in ("The rows of table db.t come again", "primary key", "snapshot.mode=no_data"))


def test_postgres_compares_whole_rows_so_that_a_key_alone_matters() -> None:
    said = of_key(TABLE, (), 500)
    assert said is not None
    assert all(part in said for part in ("table db.t", LIKES, APART, "it has no key", "primary key"))


def test_the_readme_says_it_of_each_server() -> None:
    text = Path("connectors/jdbc/README.md").read_text(encoding="utf-8")
    for server in ("### PostgreSQL\n", "### MariaDB and MySQL\n"):
        part = text.partition("## mode=log")[2].partition(server)[2].partition("\n## ")[0].partition("\n### ")[0]
        assert APART in " ".join(part.split())
