from __future__ import annotations

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConnectError
from connect.testing.fakes import FakeSourceContext
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import (
    TableFilter,
    TableName,
    from_text,
    like,
    likely_tables,
    mapped_columns,
    once_each,
    same_topic,
    select_tables,
    split,
    to_text,
    topic_of,
)
from connectors.jdbc.source.connector import JdbcSourceConnector

CONFIG = {"connection.url": "jdbc:sqlite:/x.db", "mode": "bulk", "table.whitelist": "orders"}

ORDERS, LINES, LOG = TableName("public", "orders"), TableName("public", "lines"), TableName("audit", "log")
ALL = [ORDERS, LINES, LOG]


@pytest.mark.parametrize("name", ["orders", "public.orders", '"public"."orders"', "`public`.`orders`"])
def test_a_table_is_named_bare_or_in_full_quoted_or_not(name):
    assert select_tables(ALL, TableFilter(whitelist=[name])) == [ORDERS]


@pytest.mark.parametrize("name", ["orders", "public.orders", '"public"."orders"', "`public`.`orders`"])
def test_the_tables_that_a_whitelist_can_mean_are_known_without_a_list(name):
    assert TableFilter(whitelist=[name, "other.gone"]).named_in(["public"]) == [ORDERS]
    assert TableFilter(include=[".*"]).named_in(["public"]) == []


def test_a_blacklist_takes_tables_out():
    assert select_tables(ALL, TableFilter(blacklist=["log"])) == [LINES, ORDERS]


def test_include_and_exclude_match_the_whole_full_name():
    chosen = TableFilter(include=[r"public\..*"], exclude=[r"public\.lin"])
    assert select_tables(ALL, chosen) == [LINES, ORDERS]


def test_what_no_table_matches_is_told():
    chosen = TableFilter(whitelist=["orders", "gone"])
    assert chosen.unmatched(ALL) == {"table.whitelist": ["gone"]}


@pytest.mark.parametrize(
    ("name", "likely"),
    [
        ("order", "orders"),
        ("ORDERS", "orders"),
        ("public.order", "public.orders"),
        ('"public"."order"', "public.orders"),
    ],
)
def test_a_table_that_is_not_there_is_told_with_the_likely_one_as_it_was_named(name, likely):
    assert likely_tables([name, "customers", name], ALL) == [likely]


def test_the_order_of_tables_does_not_depend_on_the_listing():
    assert select_tables(ALL, TableFilter()) == select_tables(reversed(ALL), TableFilter())


def test_tables_that_would_share_a_topic_are_found():
    config = JdbcSourceConfig.parse({**EVERYWHERE, **CONFIG, "topic.prefix": "db-"})
    tables = [ORDERS, TableName("old", "orders"), LOG]
    assert same_topic(tables, config) == {"db-orders": tables[:2]}
    by_schema = JdbcSourceConfig.parse({**EVERYWHERE, **CONFIG, "topic.name.format": "${prefix}${schema}.${table}"})
    assert same_topic(tables, by_schema) == {}
    assert topic_of(TableName("old", "orders"), by_schema) == "old.orders"
    assert topic_of(TableName("öl", "my orders/$"), by_schema) == "_l.my_orders__", "what a topic may not have"


@pytest.mark.parametrize(("tables", "groups", "sizes"), [(5, 2, [2, 3]), (2, 5, [1, 1]), (6, 3, [2, 2, 2]), (0, 3, [])])
def test_tables_are_shared_out_evenly_in_order(tables, groups, sizes):
    names = [TableName(None, str(i)) for i in range(tables)]
    shared = split(names, groups)
    assert [len(group) for group in shared] == sizes
    assert [t for group in shared for t in group] == names


def test_odd_names_survive_the_task_configuration():
    odd = [TableName("a.b", 'c"d,e'), TableName(None, "plain"), TableName("s", "ü t")]
    assert from_text(to_text(odd)) == odd


def test_a_mapping_must_match_exactly_once():
    entries = (r"public\..*:[updated|created]", ".*log:at")
    assert mapped_columns(ORDERS, entries) == ("updated", "created")
    with pytest.raises(ValueError, match="matches 0 entries"):
        mapped_columns(TableName(None, "x"), entries)


def test_metadata_patterns_are_like_patterns():
    assert like("app_%", ["app_1", "app", "xapp_1", "app.1"]) == ["app_1", "app.1"]


@pytest.mark.parametrize(
    ("chosen", "by_root", "read"),
    [
        ("root p1 p2 p2a other", False, "p1 p2a other"),
        ("root p1 p2 p2a other", True, "root other"),
        ("root other", False, "root other"),
        ("p1 p2a", True, "p1 p2a"),
        ("root p2a", False, "p2a"),
        ("root p2a", True, "root"),
    ],
)
def test_no_row_of_a_partitioned_table_is_read_twice(chosen, by_root, read):
    below = {"p1": "root", "p2": "root", "p2a": "p2"}
    parents = {TableName("s", part): TableName("s", whole) for part, whole in below.items()}
    tables = [TableName("s", name) for name in chosen.split()]
    assert [t.name for t in once_each(tables, parents, by_root=by_root)] == read.split()


@pytest.mark.parametrize("mode", ["bulk", "log"])
def test_a_task_without_a_table_names_what_none_matches(mode: str):
    given = {
        "connection.url": "jdbc:postgresql://127.0.0.1:1/d", "topic.prefix": "p-", "mode": mode, "tables": "",
        "table.whitelist": "orders,lines",
    }  # fmt: skip
    task = JdbcSourceConnector(JdbcSourceConfig.parse(given)).task(given)
    with pytest.raises(ConnectError, match=r"No table matches orders, lines of table\.whitelist\.") as caught:
        task.open(FakeSourceContext())
    assert "table.whitelist" in (caught.value.fix or "")
