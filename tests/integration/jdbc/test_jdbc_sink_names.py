"""A record whose topic or field is no name of a table or column of a real server is bad alone, and the task goes on."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from jdbc_server import Server
from jdbc_sink_target import batch, opened, put, rows

from connect.api import schema as s
from connect.api.arrow import arrow_type
from connect.api.records import Column

NAMES = ["a\0b", "", "  ", "x" * 200, "é" * 60, 'a"b`c', "a;b", "tail ", "t\n", "%", "a:b"]


@pytest.mark.parametrize("name", NAMES)
def test_a_topic_of_any_name_stops_no_task(server: Server, name: str) -> None:
    with opened(server, auto__create="true") as task:
        assert put(task, batch(server, [(1, 1)])) == {}
        told = put(task, replace(batch(server, [(2, 2)], 1), topic=name))
        assert put(task, batch(server, [(3, 3)], 2)) == {}
    assert rows(server) == [(1, 1), (3, 3)]
    assert told.keys() <= {0}
    assert all("becomes table" in why for why in told.values())
    assert bool(told) >= ("\0" in name or not name.strip())


@pytest.mark.parametrize("evolves", ["true", "false"])
@pytest.mark.parametrize("name", NAMES)
def test_a_field_of_any_name_stops_no_task(server: Server, name: str, evolves: str) -> None:
    schema = s.struct({"id": s.INT64, name: s.INT64.as_optional()}, optional=True)
    odd = Column.from_arrow(pa.array([{"id": 2, name: 2}], arrow_type(schema)), schema)
    with opened(server, auto__create="true", auto__evolve=evolves) as task:
        assert put(task, batch(server, [(1, 1)])) == {}
        put(task, replace(batch(server, [(2, 2)], 1), values=odd))
        assert put(task, batch(server, [(3, 3)], 2)) == {}
    assert [row for row in rows(server) if row[0] != 2] == [(1, 1), (3, 3)]
