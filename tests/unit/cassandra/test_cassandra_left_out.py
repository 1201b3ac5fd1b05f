"""Checks a mutation of several tables some of which are gone, not known or not watched: the others lose nothing."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from drawn_cases import quick_first
from drawn_changes import DrawnChanges
from mutation_writer import frames_of, mutation

from connectors.cassandra.cql.cql_types import CqlType, parse_type, user_types_of
from connectors.cassandra.cql.schema_reader import Schemas
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.log.events import event_batches, table_history
from connectors.cassandra.log.events.decode import MutationDecoder
from connectors.cassandra.log.events.event_batches import batches
from connectors.cassandra.log.events.event_columns import Node
from connectors.cassandra.log.events.layout import Layout
from connectors.cassandra.log.events.mutation import Cell, PartitionUpdate, Row
from connectors.cassandra.log.events.table_history import TableHistory
from connectors.cassandra.log.events.watched_tables import Watched

TYPES = user_types_of("ks", {"place": (("street", "number"), ("text", "int"))})
FORMS = [
    ([], {"v": "text"}),
    ([("int", False)], {"i": "int", "b": "blob", "tags": "set<text>"}),
    ([("text", True), ("uuid", False)], {"l": "list<int>", "m": "map<text, bigint>", "home": "place"}),
    ([("bigint", True)], {f"c{i:02}": "int" for i in range(70)}),
]


def table(number: int, form: int) -> Table:
    clustering, columns = FORMS[form]
    return Table(
        UUID(int=0x1000 + number), "ks", f"t{number}", [TableColumn("k", CqlType("int"))],
        [TableColumn(f"c_{i}", CqlType(name), back) for i, (name, back) in enumerate(clustering)],
        [TableColumn("s", CqlType("int"))] if clustering else [],
        [TableColumn(name, parse_type(text, TYPES)) for name, text in columns.items()],
        cdc=True,
    )  # fmt: skip


TABLES = [table(number, 1 + number % 3) for number in range(8)]


@pytest.fixture(autouse=True, params=["native", "twin"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "twin":
        monkeypatch.setattr(event_batches, "module", lambda: None)


def watch(known: Sequence[Table], *gone: Table, views: Sequence[Table] = ()) -> Watched:
    history = {"tables": json.dumps([{"id": str(one.id), **Layout.of(one).stored} for one in gone])}
    return Watched(lambda: Schemas(known, {}, views=views), (), "", lambda _: history if gone else None)


def events(watched: Watched, bodies: Sequence[bytes]) -> tuple[dict[str, list], list[str]]:
    """What is sent by topic, the positions left out, and what cannot be read."""
    kept: list[str] = []
    found: dict[str, list] = {}
    for batch in batches(frames_of(bodies), watched, Node("c", "d", "n"), kept.append):
        rows = [{name: value for name, value in row.items() if name != "source"} for row in batch.values.rows()]
        found.setdefault(batch.topic, []).extend(rows)
    return found, kept


def drawn(draw: DrawnChanges, chance: random.Random, tables: Sequence[Table]) -> list[PartitionUpdate]:
    """The updates of one mutation, which all have one partition key."""
    key = chance.randbytes(4)
    return [replace(draw._update(one), key=key) for one in tables]


@pytest.mark.parametrize("seed", quick_first(8, of=40))
def test_changes_of_living_tables_are_sent_whatever_else_is_in_their_mutation(seed: int) -> None:
    chance = random.Random(seed)
    draw = DrawnChanges(chance)
    watched_tables = TABLES[:3]
    not_watched = [replace(one, cdc=False) for one in TABLES[3:5]]
    view, gone, unknown = TABLES[5], TABLES[6], TABLES[7]
    mutations = [
        drawn(draw, chance, chance.sample([*watched_tables, *not_watched, view, gone, unknown], chance.randint(1, 7)))
        for _ in range(6)
    ]
    seen = watch([*watched_tables, *not_watched], gone, views=[view])
    found, kept = events(seen, [mutation(updates, draw.base()) for updates in mutations])
    alone = [[one for one in updates if one.table in watched_tables] for updates in mutations]
    expected, bad = events(watch(watched_tables), [mutation(updates) for updates in alone if updates])
    assert (found, len(kept)) == (expected, len(bad))
    left_out = [updates for updates in mutations if any(one.table in {gone, unknown} for one in updates)]
    assert seen.unknown_mutations == len(left_out)


def simple(of: Table, value: bytes = b"x") -> PartitionUpdate:
    return PartitionUpdate(of, bytes(4), None, None, [Row((), None, None, {"v": Cell(9, value)})])


def test_a_dropped_table_is_named_with_its_place_once_and_an_unknown_one_by_its_id(
    caplog: pytest.LogCaptureFixture,
) -> None:
    living, gone, unknown = (replace(table(number, 0)) for number in (1, 2, 3))
    body = mutation([simple(gone), simple(living), simple(unknown)])
    seen = watch([living], gone)
    found, _ = events(seen, [body, body])
    assert len(found["ks.t1"]) == 2
    ends = frames_of([body, body]).ends.tolist()
    place = f"those of segment 1 before position {ends[0]} first"
    assert caplog.text.count(f"Table ks.t2 ({gone.id}) is gone: it was dropped. Its changes are left out, {place}") == 1
    assert caplog.text.count(f"Table {unknown.id} is not known: it was dropped. Its changes are left out, {place}") == 1
    assert seen.unknown_mutations == 2


def test_a_view_is_no_table_that_was_dropped(caplog: pytest.LogCaptureFixture) -> None:
    living, view = table(1, 0), table(2, 0)
    seen = watch([living], views=[replace(view, cdc=False)])
    found, kept = events(seen, [mutation([simple(view)]), mutation([simple(view), simple(living)])])
    assert (len(found["ks.t1"]), kept, seen.unknown_mutations, caplog.text) == (1, [], 0, "")


def test_what_cannot_be_read_behind_an_unknown_table_is_kept_and_never_passed_over() -> None:
    living, unknown = table(1, 0), table(2, 0)
    old = replace(living, regular=[])
    seen = watch([old])
    found, kept = events(seen, [mutation([simple(unknown), simple(living)])])
    assert (found, len(kept)) == ({}, 1)
    assert "no such column" in kept[0]


def test_a_dropped_table_whose_layout_is_out_of_date_is_passed_over_by_what_follows() -> None:
    living, gone = table(1, 0), table(2, 0)
    found, kept = events(watch([living], replace(gone, regular=[])), [mutation([simple(gone), simple(living)])])
    assert (len(found["ks.t1"]), kept) == (1, [])


def test_a_table_of_more_than_a_hundred_in_one_mutation_is_found() -> None:
    many = [table(number, 0) for number in range(150)]
    found, kept = events(watch(many[-1:]), [mutation([simple(one) for one in many])])
    assert (list(found), kept) == ([many[-1].title], [])


def test_bytes_that_look_like_an_update_are_none_where_no_further_one_may_come() -> None:
    living, unknown = table(1, 0), table(2, 0)
    inside = mutation([simple(living)])[1:]
    decoded = MutationDecoder({living.id: living}, 8).decode(mutation([simple(unknown, inside)]))
    assert (decoded.updates, decoded.left_out) == ([], [unknown.id])


def test_the_history_remembers_the_tables_that_went_last_and_tells_each_change_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table_history, "MOST_GONE", 2)
    history = TableHistory()
    elsewhere = replace(table(9, 0), keyspace="other")
    history.learn([*TABLES[:4], elsewhere], ["ks"])
    assert list(history.take_changes()) == ["ks"]
    history.learn([*TABLES[:4], elsewhere], ["ks"])
    assert history.take_changes() == {}
    for left in (3, 2, 1):
        history.learn(TABLES[:left], ["ks"])
    assert set(history.gone) == {TABLES[1].id, TABLES[2].id}
    (entry,) = history.take_changes().values()
    again = TableHistory()
    again.load("ks", entry)
    again.learn(TABLES[:1], ["ks"])
    assert again.gone == history.gone == {one.id: Layout.of(one) for one in TABLES[1:3]}
    assert again.take_changes() == {}


def test_a_table_that_loses_its_change_data_capture_is_said(caplog: pytest.LogCaptureFixture) -> None:
    living = table(1, 0)
    versions = [Schemas([living], {}), Schemas([replace(living, cdc=False)], {})]
    seen = Watched(lambda: versions.pop(0), (), "")
    seen.refresh()
    assert "Table ks.t1 has no cdc = true any more" in caplog.text
