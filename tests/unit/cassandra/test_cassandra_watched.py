"""Checks which changes are sent, and what happens when a mutation knows more than the schema that was read."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

import pytest
from cdc_fixtures import all_frames, segment_bytes, table, tables

from connect.api.errors import SchemaError
from connectors.cassandra.cql.schema_reader import Schemas, read_schemas
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.log.events.watched_tables import Watched


def watched(*versions: Iterable[Table], names: Iterable[str] = ()) -> Watched:
    """What is watched where the schema, each time it is read, is the next of these and then stays the last."""
    schemas = [Schemas(version, {}) for version in versions]
    return Watched(lambda: schemas.pop(0) if len(schemas) > 1 else schemas[0], names, "p.")


def bodies(name: str, kind: str = "plain") -> list[bytes]:
    number = table(name).id.bytes
    return [frame.body for frame in all_frames(segment_bytes(kind)) if frame.body[1:17] == number]


def count(seen: Watched, found: Iterable[bytes]) -> int:
    return sum(len(seen.updates(body, 7)) for body in found)


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ((), {"evo", "nocdc", "pkonly", "simple", "t", "trunc", "wide"}),
        (("ks.simple", "ks.nope"), {"simple"}),
        (("ks.*",), {"evo", "nocdc", "pkonly", "simple", "t", "trunc", "wide"}),
        (("other.*",), set()),
    ],
)
def test_tables_with_change_data_capture_are_sent_as_far_as_they_are_named(names: tuple[str, ...], wanted: set) -> None:
    without = replace(table("bench"), cdc=False)
    given = [without if found.name == "bench" else found for found in tables().values()]
    seen = watched(given, names=names)
    assert {found.shape.table.name for found in seen.tables.values()} == wanted
    assert {found.topic for found in seen.tables.values()} == {f"p.ks.{name}" for name in wanted}


def test_a_name_of_no_table_with_change_data_capture_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        watched(tables().values(), names=("ks.simple", "ks.nope", "other.*")).refresh()
    said = [line for line in caplog.messages if line.startswith("No changes of ")]
    assert [line.split(" are sent")[0] for line in said] == ["No changes of ks.nope", "No changes of other.*"]


def test_counters_are_said_to_be_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        seen = watched(tables().values())
        seen.refresh()
    assert caplog.text.count("Changes of table ks.cnt are not sent: it holds counters") == 1
    assert count(seen, bodies("cnt")) == 0


def test_a_keyspace_that_the_nodes_do_not_log_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    silent = [replace(found, is_logged=found.name != "simple") for found in tables().values()]
    with caplog.at_level(logging.ERROR):
        seen = watched(silent)
        seen.refresh()
    assert "simple" not in {found.shape.table.name for found in seen.tables.values()}
    assert caplog.text.count("Changes of table ks.simple are not sent: its keyspace has durable_writes = false") == 1


def test_a_table_made_since_the_schema_was_read_is_found(caplog: pytest.LogCaptureFixture) -> None:
    others = [found for found in tables().values() if found.name != "pkonly"]
    seen = watched(others, tables().values())
    assert count(seen, bodies("pkonly")) == 2
    assert seen.unknown_mutations == 0


def test_a_table_that_is_gone_is_counted_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    seen = watched([found for found in tables().values() if found.name != "simple"])
    gone = bodies("simple")
    with caplog.at_level(logging.ERROR):
        assert count(seen, gone) == 0
    assert seen.unknown_mutations == len(gone) > 5
    assert caplog.text.count(f"Table {table('simple').id} is not known") == 1


def test_changes_of_a_table_with_a_type_that_is_not_known_are_counted_and_the_type_named_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broken = table("simple")
    why = "The CQL type 'odd' names 'odd', which is not known in its keyspace."
    others = [found for found in tables().values() if found is not broken]
    with caplog.at_level(logging.ERROR):
        seen = Watched(lambda: Schemas(others, {"ks.simple": why}, [broken.id]), (), "p.")
        assert count(seen, bodies("simple")) == 0
    assert seen.unknown_mutations == len(bodies("simple"))
    assert caplog.text.count(f"Changes of table ks.simple cannot be read: {why}") == 1
    assert "was dropped" not in caplog.text


def test_a_column_added_since_the_schema_was_read_is_found_and_one_never_found_is_an_error() -> None:
    old = replace(table("simple"), regular=())
    assert count(watched([old], tables().values()), bodies("simple")) == len(bodies("simple"))
    with pytest.raises(SchemaError, match=r"Field 'v': Table ks\.simple has no such column"):
        count(watched([old]), bodies("simple"))


class Answers:
    """system_schema as the server gives it."""

    def __init__(self, **rows: list[tuple]) -> None:
        self._rows = rows

    def rows(self, query: str, *, doing: str) -> list[tuple]:
        name = query.partition("system_schema.")[2]
        return self._rows.get(name, [])


def test_tables_are_read_with_their_types_and_a_broken_one_is_named() -> None:
    number = table("simple").id
    schemas = read_schemas(
        Answers(
            keyspaces=[("ks", False), ("other", True)],
            tables=[("ks", "good", number, True, 8), ("ks", "bad", table("t").id, None, None)],
            columns=[
                ("ks", "good", "v", "regular", -1, "frozen<outer>", "none"),
                ("ks", "good", "c", "clustering", 0, "int", "desc"),
                ("ks", "good", "q", "partition_key", 1, "int", "none"),
                ("ks", "good", "p", "partition_key", 0, "text", "none"),
                ("ks", "good", "s", "static", -1, "int", "none"),
                ("ks", "bad", "p", "partition_key", 0, "missing_type", "none"),
            ],
            types=[("ks", "outer", ["i"], ["frozen<inner>"]), ("ks", "inner", ["a"], ["int"])],
            dropped_columns=[("ks", "good", "old", "map<text, int>", 5), ("ks", "good", "v", "int", 1_700_000_000_123)],
        )
    )
    assert schemas.broken == {
        "ks.bad": "The CQL type 'missing_type' names 'missing_type', which is not known in its keyspace."
    }
    assert schemas.broken_ids == {table("t").id}
    good = schemas.tables[number]
    assert [column.name for column in good.columns] == ["p", "q", "c", "s", "v"]
    assert good.clustering[0].descending
    assert (good.cdc, good.cdc_us, good.is_logged) == (True, 8, False)
    assert good.value_types["v"].parameters[0].title == "ks.inner"
    assert good.value_types["old"].name == "map"
    assert good.dropped_us == {"v": 1_700_000_000_123_000}
