"""Checks offsets that a person gives: of no table that is read, and beyond all rows of a table. SQLite."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import sqlalchemy as sa

from connect.api.allowed_paths import EVERYWHERE
from connect.api.records import SourcePosition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext
from connectors.jdbc.follow import given_tables
from connectors.jdbc.follow.given_tables import unread
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.source.connector import JdbcSourceConnector


@pytest.fixture
def connector(tmp_path: Path) -> JdbcSourceConnector:
    with sa.create_engine(f"sqlite:///{tmp_path / 'a.db'}").begin() as connection:
        connection.exec_driver_sql("CREATE TABLE orders (id INTEGER PRIMARY KEY)")
        connection.exec_driver_sql("CREATE TABLE others (id INTEGER PRIMARY KEY)")
        connection.exec_driver_sql("INSERT INTO orders VALUES (1), (2), (3)")
    given = {
        "connection.url": f"jdbc:sqlite:{tmp_path / 'a.db'}", "mode": "incrementing", "topic.prefix": "p-",
        "incrementing.column.name": "id", "table.whitelist": "orders", "poll.interval.ms": "50",
        "table.poll.interval.ms": "100",
    }  # fmt: skip
    return JdbcSourceConnector(JdbcSourceConfig.parse({**given, **EVERYWHERE}))


def altered(connector: JdbcSourceConnector, table: str, offset: dict[str, object] | None) -> list[str]:
    said = connector.alter_offsets([SourcePosition({"protocol": "1", "table": table}, offset)])
    assert not said.is_whole
    return list(said.notes)


def test_an_offset_of_a_table_that_is_not_read_is_stored_and_said(connector, caplog):
    caplog.set_level(logging.WARNING)
    assert altered(connector, "orders", {"incrementing": 2}) == []
    assert altered(connector, "ordres", None) == []
    assert "does not read" not in caplog.text
    (said,) = altered(connector, "ordres", {"incrementing": 2})
    assert said in caplog.text
    assert "An offset was set of table ordres, which this connector does not read: it has no effect." in caplog.text
    assert "Is orders meant?" in caplog.text
    altered(connector, "others", {"incrementing": 2})
    assert "table others, which this connector does not read" in caplog.text


def test_each_table_that_is_not_read_is_named_once():
    found = unread(["shop.a", "a", "shop.b", "shop.b"], [TableName("shop", "a")])
    assert [text.split(",")[0] for text in found] == ["An offset was set of table shop.b"]


def test_the_status_says_that_the_stored_id_is_beyond_all_rows_and_no_longer_when_it_is_not(connector):
    context = FakeSourceContext()
    context.store.store([SourcePosition({"protocol": "1", "table": "orders"}, {"incrementing": 900})])
    task = connector.task({**connector.task_configs(1)[0], **EVERYWHERE})
    task.open(context)
    (note,) = context.noted
    assert "rows with ids up to 900 are not read" in note
    assert "the largest id is 3" in note
    with sa.create_engine(connector._config.connection_url.replace("jdbc:sqlite:", "sqlite:///")).begin() as connection:
        connection.exec_driver_sql("INSERT INTO orders VALUES (901)")
    deadline = Deadline.after(60)
    while context.noted and not deadline.expired:
        task.poll(Deadline.after(0.1))
    assert context.noted == ()
    task.close()


def noted(connector: JdbcSourceConnector, *tables: str) -> tuple[str, ...]:
    """What a task says that begins where offsets of these tables are stored."""
    context = FakeSourceContext()
    for table in tables:
        context.store.store([SourcePosition({"protocol": "1", "table": table}, {"incrementing": 1})])
    task = connector.task({**connector.task_configs(1)[0], **EVERYWHERE})
    task.open(context)
    task.close()
    return context.noted


def test_the_status_says_that_a_stored_offset_is_of_a_misspelt_table(connector):
    (said,) = noted(connector, "orders", "ordres")
    assert said.startswith("An offset was set of table ordres, which this connector does not read: it has no effect.")
    assert "Is orders meant?" in said


def test_offsets_of_tables_that_were_dropped_or_that_are_read_are_not_worth_a_word(connector, monkeypatch):
    monkeypatch.setattr(given_tables, "_chosen", lambda config: pytest.fail("The database was asked for nothing."))
    assert noted(connector, "orders", "customers") == ()
    assert noted(connector) == ()


def test_a_table_of_another_task_is_read(connector, monkeypatch):
    both = [TableName(None, "orders"), TableName(None, "ordres")]
    monkeypatch.setattr(given_tables, "_chosen", lambda config: both)
    assert noted(connector, "orders", "ordres") == ()
