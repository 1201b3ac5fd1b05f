"""Makes events of a table's rows: each value has the time that the server tells, and static ones come once in a
partition.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from connect.api.errors import ConfigError
from connectors.cassandra.cql.cql_types import CqlType, parse_type, user_types_of
from connectors.cassandra.cql.pages import Page
from connectors.cassandra.cql.splits import GREATEST_TOKEN, LEAST_TOKEN, Split
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.log.events.event_columns import Node
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.snapshot_events import SnapshotEvents
from connectors.cassandra.source.sweeps import Sweep

PLACE = user_types_of("ks", {"place": (("street", "number"), ("text", "int"))})
INT, TEXT = CqlType("int"), CqlType("text")
FENCE_US, NOW_S = 5_000_000, 1000
TABLE = Table(
    UUID(int=1),
    "ks",
    "t",
    [TableColumn("k", INT)],
    [TableColumn("c", INT)],
    [TableColumn("s", TEXT)],
    [
        TableColumn("l", parse_type("list<int>", {})),
        TableColumn("m", parse_type("map<text, int>", {})),
        TableColumn("st", parse_type("set<int>", {})),
        TableColumn("u", parse_type("place", PLACE)),
        TableColumn("v", TEXT),
    ],
)


def cell(data: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if data is None else len(data).to_bytes(4, "big") + data


def number(value: int, size: int = 4) -> bytes:
    return value.to_bytes(size, "big", signed=True)


def listed(*values: bytes | None) -> bytes:
    return number(len(values)) + b"".join(map(cell, values))


def events(*rows: dict[str, Any], element_times: bool = True, table: Table = TABLE) -> list[dict[str, Any]]:
    """The events of a page; a row names values by column, and times as writetime(column) and ttl(column)."""
    maker = maker_of(table, element_times=element_times)
    batch = maker.batch(Split(TABLE, LEAST_TOKEN, GREATEST_TOKEN), page_of(maker, *rows), Sweep(), is_last=False)
    assert batch.topic == "topic"
    return list(batch.values.rows())


def maker_of(table: Table = TABLE, *, element_times: bool = True) -> SnapshotEvents:
    return SnapshotEvents(
        table, "topic", Node("c", "d", ""), element_times=element_times, fence_us=FENCE_US, now_s=lambda: NOW_S
    )


def page_of(maker: SnapshotEvents, *rows: dict[str, Any]) -> Page:
    expressions = [part.strip() for part in maker.more.split(", ") if part]
    data = b"".join(
        cell(number(7, 8))
        + b"".join(cell(row.get(column.name)) for column in TABLE.columns)
        + b"".join(cell(row.get(expression.replace('"', ""))) for expression in expressions)
        for row in rows
    )
    return Page(data, len(rows), 1 + len(TABLE.columns) + len(expressions))


def at(us: int, ttl_s: int | None = None) -> dict[str, int | None]:
    return {"writetime_us": us, "ttl_s": ttl_s, "local_deletion_s": None if ttl_s is None else NOW_S + ttl_s}


def test_a_value_has_its_writetime_and_the_end_that_is_left_to_it() -> None:
    row = {"k": number(1), "c": number(2), "v": b"x", "writetime(v)": number(9, 8), "ttl(v)": number(60)}
    (event,) = events(row)
    assert (event["op"], event["key"], event["writetime_us"]) == ("snapshot", {"k": 1, "c": 2}, 9)
    assert event["columns"]["v"] == {"value": "x", **at(9, 60), "deleted": False}
    assert event["liveness"] == {"writetime_us": 9, "ttl_s": 60, "expires_s": NOW_S + 60}
    assert [name for name, change in event["columns"].items() if change is not None] == ["v"]


def test_elements_have_times_of_their_own() -> None:
    row = {
        "k": number(1), "c": number(2),
        "m": listed(b"a", number(1), b"b", number(2)), "writetime(m)": listed(number(3, 8), number(4, 8)),
        "ttl(m)": listed(None, number(60)),
        "st": listed(number(5)), "writetime(st)": listed(number(6, 8)), "ttl(st)": listed(None),
        "u": cell(None) + cell(number(8)), "writetime(u)": listed(None, number(7, 8)), "ttl(u)": listed(None, None),
    }  # fmt: skip
    (event,) = events(row)
    both = [{"key": "a", "value": 1, **at(3)}, {"key": "b", "value": 2, **at(4, 60)}]
    assert event["columns"]["m"] == {"cleared_us": None, "set": both, "removed": []}
    assert event["columns"]["st"]["set"] == [{"element": 5, **at(6)}]
    field = {"value": 8, **at(7), "deleted": False}
    assert event["columns"]["u"] == {"cleared_us": None, "fields": {"street": None, "number": field}}
    assert event["liveness"]["writetime_us"] == 7


def test_positions_in_a_list_are_in_its_order() -> None:
    row = {
        "k": number(1),
        "c": number(2),
        "l": listed(number(1), number(2)),
        "writetime(l)": listed(number(3, 8), number(3, 8)),
    }
    (event,) = events(row)
    first, second = event["columns"]["l"]["set"]
    assert (first["value"], second["value"]) == (1, 2)
    assert UUID(first["position"]).time < UUID(second["position"]).time


def list_read(*elements: tuple[int, int], table: Table = TABLE, element_times: bool = True) -> dict[str, Any]:
    """The change of a list that was read, of the values and writetimes of its elements."""
    values, times = zip(*elements, strict=True)
    row = {
        "k": number(1), "c": number(2), "l": listed(*map(number, values)),
        "writetime(l)": listed(*(number(time, 8) for time in times)),
    }  # fmt: skip
    (event,) = events(row, table=table, element_times=element_times)
    return dict(event["columns"]["l"])


LOGGED = replace(TABLE, cdc=True)


def test_a_list_that_was_read_takes_the_place_of_all_until_the_fence_and_leaves_the_rest_to_the_log() -> None:
    found = list_read((1, 10), (2, FENCE_US), (3, FENCE_US + 1), table=LOGGED)
    assert found["cleared_us"] == FENCE_US
    assert [(e["value"], e["writetime_us"]) for e in found["set"]] == [(1, FENCE_US + 1), (2, FENCE_US + 1)]
    later = list_read((3, FENCE_US + 1), table=LOGGED)
    assert (later["cleared_us"], later["set"]) == (FENCE_US, [])


def test_the_fence_of_lists_is_not_before_the_moment_from_which_on_changes_are_in_the_log() -> None:
    found = list_read((1, FENCE_US + 7), (2, FENCE_US + 8), table=replace(LOGGED, cdc_us=FENCE_US + 7))
    assert (found["cleared_us"], [e["value"] for e in found["set"]]) == (FENCE_US + 7, [1])


def test_a_list_whose_changes_are_in_no_log_is_as_it_was_written() -> None:
    found = list_read((1, 10), (2, FENCE_US + 1))
    assert (found["cleared_us"], [e["writetime_us"] for e in found["set"]]) == (None, [10, FENCE_US + 1])


def test_an_element_of_a_far_future_time_is_never_left_to_the_log() -> None:
    future_us = (NOW_S + 3600) * 1_000_000
    found = list_read((1, future_us), table=LOGGED)
    assert [(e["value"], e["writetime_us"]) for e in found["set"]] == [(1, future_us)]


def test_without_times_of_elements_a_list_is_as_of_the_fence() -> None:
    found = list_read((1, 0), (2, 0), table=LOGGED, element_times=False)
    assert found["cleared_us"] == FENCE_US
    assert [(e["value"], e["writetime_us"]) for e in found["set"]] == [(1, FENCE_US + 1), (2, FENCE_US + 1)]


@pytest.mark.parametrize(
    "times_us",
    [
        (40, 30, 10, 20),  # 40 and 30 were prepended
        (10, 20, 30),
        (30, 20, 10),
        (10, 50, 20),  # 50 was overwritten
        (10, 10, 10),
    ],
)
@pytest.mark.parametrize("since_us", [0, 1_600_000_000_000_000, 1_700_000_000_000_382])
def test_what_is_prepended_later_comes_before_what_was_read_and_what_is_appended_later_behind(
    times_us: tuple[int, ...], since_us: int
) -> None:
    fence_us = 1_700_000_000_000_432
    table = replace(LOGGED, cdc_us=fence_us)
    read = list_read(*((number, since_us + us) for number, us in enumerate(times_us)), table=table)
    places = [UUID(element["position"]).time for element in read["set"]]
    assert [element["value"] for element in read["set"]] == list(range(len(times_us)))
    assert places == sorted(set(places))
    assert first_prepended(fence_us // 1000) < places[0]
    assert places[-1] < first_appended(fence_us // 1000)


EPOCH, MIRROR_MS = 0x01B21DD213814000, 1_262_304_000_000


def first_prepended(at_ms: int) -> int:
    """Where Cassandra's Lists.Prepender puts its first element of a millisecond; later ones of it are before that."""
    return (2 * MIRROR_MS - at_ms) * 10_000 + 9_999 + EPOCH


def first_appended(at_ms: int) -> int:
    """Where Cassandra's Lists.Appender puts its first element of a millisecond; later ones of it are behind that."""
    return at_ms * 10_000 + EPOCH


def test_a_long_list_that_was_read_stands_between_what_is_prepended_and_appended_in_the_millisecond_of_the_fence() -> (
    None
):
    fence_us = 1_700_000_000_000_999
    read = list_read(*((number, fence_us) for number in range(30_000)), table=replace(LOGGED, cdc_us=fence_us))
    places = [UUID(element["position"]).time for element in read["set"]]
    assert first_prepended(fence_us // 1000) < places[0]
    assert places[-1] < first_appended(fence_us // 1000)


def test_an_element_of_a_far_future_time_is_not_before_what_the_log_prepends() -> None:
    fence_us, future_us = 1_700_000_000_000_432, 4_000_000_000_000_000
    table = replace(LOGGED, cdc_us=fence_us)
    read = list_read((0, future_us), (1, fence_us - 10), (2, fence_us - 20), table=table)
    places = [UUID(element["position"]).time for element in read["set"]]
    assert places == sorted(set(places))
    assert places[0] > first_prepended(fence_us // 1000), "in the millisecond of the fence"


def test_what_the_server_does_not_tell_stands_at_the_fence() -> None:
    (event,) = events({"k": number(1), "c": number(2), "st": listed(number(5))}, element_times=False)
    assert event["columns"]["st"]["set"] == [{"element": 5, **at(FENCE_US)}]
    (event,) = events({"k": number(1), "c": number(2)})
    assert event["liveness"] == {"writetime_us": FENCE_US, "ttl_s": None, "expires_s": None}


def test_static_values_come_in_each_sweep_and_once_in_it_whichever_ranges_are_read_in_turn() -> None:
    maker = maker_of()
    one, other = (Split(TABLE, LEAST_TOKEN, 0), Split(TABLE, 0, GREATEST_TOKEN))

    def statics(split: Split, key: int, clustering: int, *, is_last: bool) -> list[str]:
        row = {"k": number(key), "c": number(clustering), "s": b"x", "writetime(s)": number(9, 8)}
        batch = maker.batch(split, page_of(maker, row), Sweep(), is_last=is_last)
        return [event["op"] for event in batch.values.rows()]

    for _ in range(2):
        assert statics(one, 1, 1, is_last=False) == ["static", "snapshot"]
        assert statics(other, 2, 1, is_last=True) == ["static", "snapshot"]
        assert statics(one, 1, 2, is_last=True) == ["snapshot"]


def test_static_values_come_once_in_a_partition_and_alone_where_it_has_no_rows() -> None:
    static = {"s": b"x", "writetime(s)": number(9, 8)}
    found = events(
        {"k": number(1), "c": number(1), **static},
        {"k": number(1), "c": number(2), **static},
        {"k": number(2), **static},
    )
    assert [(event["op"], event["key"]["k"], event["key"]["c"]) for event in found] == [
        ("static", 1, None), ("snapshot", 1, 1), ("snapshot", 1, 2), ("static", 2, None)
    ]  # fmt: skip
    assert found[0]["columns"]["s"]["value"] == "x"
    assert found[1]["columns"]["s"] is None


def test_events_are_of_whole_rows() -> None:
    base = {"contact.points": "h", "keyspace": "ks", "output": "events"}
    for wrong in ({"mode": "timestamp", "incremental.columns": "v"}, {"table.columns": "t:v"}):
        with pytest.raises(ConfigError, match="output=events is of whole rows"):
            CassandraSourceConfig.parse({**base, **wrong})
