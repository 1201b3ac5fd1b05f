"""Checks Datagen's rows: what its settings ask for, at any place the same, and on from where it stood."""

from __future__ import annotations

import gc
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError, ConnectError
from connect.api.records import Batch, SourcePosition
from connect.api.schema import Schema, Type
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.testing.fakes import FakeSourceContext, OffsetStore
from connectors.samples.datagen.config import DatagenConfig
from connectors.samples.datagen.patterns import Pattern
from connectors.samples.datagen.quick_starts import quick_starts
from connectors.samples.datagen.source import DatagenConnector, DatagenTask
from connectors.samples.datagen.values import BLOCK_ROWS, MadeTexts, Place, TextPool

SCHEMA = {
    "type": "record", "name": "visit", "namespace": "shop",
    "fields": [
        {"name": "id", "type": {"type": "int", "arg.properties": {"iteration": {"start": 5, "restart": 8}}}},
        {"name": "at", "type": {"type": "long", "arg.properties": {"range": {"min": 10, "max": 12}}}},
        {"name": "code", "type": {"type": "string", "arg.properties": {"regex": "[A-C]{2}-\\d+x?"}}},
        {"name": "size", "type": {"type": "string", "arg.properties": {"options": ["S", "M"]}}},
        {"name": "note", "type": ["null", {"type": "string", "arg.properties": {"length": 4}}]},
        {"name": "tags", "type": {"type": "array", "items": "double", "arg.properties": {"length": 3}}},
        {"name": "more", "type": {"type": "map", "values": "boolean"}},
        {"name": "kind", "type": {"type": "enum", "name": "kind", "symbols": ["A", "B"]}},
        {"name": "raw", "type": "bytes"},
    ],
}  # fmt: skip


def config(**given: str) -> DatagenConfig:
    properties = {"kafka.topic": "t", "max.interval": "0", **{k.replace("_", "."): v for k, v in given.items()}}
    return DatagenConfig.parse({**properties, **EVERYWHERE})


def task(store: OffsetStore | None = None, **given: str) -> DatagenTask:
    connector = DatagenConnector(config(**given))
    made = connector.task({**connector.task_configs(1)[0], **EVERYWHERE})
    made.open(FakeSourceContext(store=store or OffsetStore()))
    return made


def poll(one: DatagenTask) -> Batch:
    batch = one.poll(Deadline.after(60))
    assert batch is not None
    return batch


def test_a_schema_says_what_each_value_is() -> None:
    batch = poll(task(schema_string=json.dumps(SCHEMA), schema_keyfield="id", iterations="300"))
    rows = batch.values.rows()
    assert len(rows) == 300
    assert batch.values.schema is not None
    assert batch.values.schema.name == "shop.visit"
    assert [row["id"] for row in rows[:5]] == [5, 6, 7, 5, 6]
    assert batch.keys is not None
    assert list(batch.keys.rows()) == [row["id"] for row in rows]
    assert {row["at"] for row in rows} == {10, 11}
    assert all(re.fullmatch(r"[A-C]{2}-\d+x?", row["code"]) for row in rows)
    assert {row["size"] for row in rows} == {"S", "M"}
    assert {row["note"] is None for row in rows} == {True, False}
    assert {len(row["note"]) for row in rows if row["note"] is not None} == {4}
    assert {len(row["tags"]) for row in rows} == {3}
    assert all(0 <= tag < 1 for row in rows for tag in row["tags"])
    assert {kept for row in rows for kept in row["more"].values()} == {True, False}
    assert {row["kind"] for row in rows} == {"A", "B"}
    assert all(isinstance(row["raw"], bytes) for row in rows)


def test_rows_go_on_where_they_stood_and_depend_on_seed_and_iteration_alone() -> None:
    whole = task(quickstart="ORDERS", random_seed="7")
    expected = [row for _ in range(2) for row in poll(whole).values.rows()]
    assert len(expected) == 2 * BLOCK_ROWS
    store, found = OffsetStore(), []
    for upto in (10, 1500, 2000):
        one = task(store, quickstart="orders", random_seed="7", iterations=str(upto))
        while len(found) < upto:
            batch = poll(one)
            found += list(batch.values.rows())
            assert batch.position is not None
            store.store([batch.position])
        assert one.poll(Deadline.after(0)) is None
    assert found == expected[:2000]
    assert poll(task(quickstart="orders", random_seed="8")).values.rows() != expected[:BLOCK_ROWS]


def test_a_row_is_the_same_however_few_rows_there_are() -> None:
    given = {"schema_string": json.dumps(SCHEMA), "random_seed": "7"}
    expected = poll(task(**given)).values.rows()
    for rows in (1, 3, 400):
        assert poll(task(iterations=str(rows), **given)).values.rows() == expected[:rows]


def test_a_row_makes_few_texts_of_those_that_it_could_have() -> None:
    made: list[int] = []

    def make(dice: random.Random) -> str:
        made.append(1)
        return str(dice.random())

    values = MadeTexts(Schema(Type.STRING), make)
    for rows, most in ((1, 50), (BLOCK_ROWS, 1000)):
        pools: dict[str, TextPool] = {}
        made.clear()
        first = values.column(Place("7.name", 0, rows, pools))
        assert 0 < len(made) <= most
        assert first == values.column(Place("7.name", 0, rows, pools))
        assert len(made) <= most


def test_a_process_that_hashes_texts_otherwise_makes_the_same_rows() -> None:
    made = (
        "from connectors.samples.datagen.quick_starts import quick_starts; "
        "from connectors.samples.datagen.rows import MadeRows; "
        "print(MadeRows(quick_starts()['orders'], 7).columns(0, 20)[1].rows())"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", made], env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True,
            text=True, timeout=120,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(told) == 1


def test_a_record_tells_its_task_and_iteration() -> None:
    batch = poll(task(quickstart="users", iterations="2"))
    assert batch.headers is not None
    told = [{header.key: header.value for header in headers} for headers in batch.headers]
    assert told == [{"task.generation": 0, "task.id": 0, "current.iteration": n} for n in range(2)]
    assert batch.position is not None
    assert batch.position.partition == {"task.id": 0}
    assert set(batch.position.offset or ()) == {"task.generation", "current.iteration", "random.seed"}


def test_rows_come_at_their_pace() -> None:
    one = task(quickstart="users", max_interval="3600000")
    assert one.poll(Deadline.after(0.01)) is None
    quick = task(quickstart="users", max_interval="2")
    deadline = Deadline.after(60)
    while (batch := quick.poll(deadline)) is None:
        assert not deadline.expired
    assert len(batch) < BLOCK_ROWS


@pytest.mark.parametrize("name", sorted(quick_starts()))
def test_every_quick_start_makes_rows_with_its_key(name: str) -> None:
    batch = poll(task(quickstart=name.upper(), iterations="50"))
    assert batch.keys is not None
    assert list(batch.keys.rows()) == [row[quick_starts()[name].key] for row in batch.values.rows()]
    assert batch.values.schema is not None
    assert batch.values.schema.name == f"ksql.{name}"


@pytest.mark.parametrize(
    ("given", "key", "told"),
    [
        ({"quickstart": "order"}, "quickstart", "Known here are campaign_finance, "),
        ({"quickstart": "users", "schema.keyfield": "nobody"}, "quickstart", "no field nobody"),
        ({"schema.string": "{"}, "schema.string", "It is no JSON"),
        ({"schema.string": '"int"'}, "schema.string", "type is not record"),
        ({"schema.filename": "/no/such.avsc"}, "schema.filename", "cannot be read"),
        ({"schema.string": json.dumps({**SCHEMA, "fields": [{"name": "a", "type": "uuid"}]})}, "schema.string", "uuid"),
        (
            {"schema.string": json.dumps(SCHEMA).replace("[A-C]{2}-", "(a|b)")},
            "schema.string",
            "only characters, [classes] and repetitions",
        ),
    ],
)
def test_rows_that_cannot_be_made_are_refused(given: Mapping[str, str], key: str, told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(told)) as caught:
        DatagenConnector(config(**given)).check(Deadline.after(60))
    assert caught.value.key == key


@pytest.mark.parametrize(
    "member",
    [
        {"type": "array"},
        {"type": "int", "arg.properties": {"range": [1, 2]}},
        {"type": "int", "arg.properties": {"range": {"max": 2**40}}},
        {"type": "int", "arg.properties": {"iteration": {"step": 0, "restart": 5}}},
        {"type": "int", "arg.properties": {"options": ["a"]}},
        {"type": "string", "arg.properties": {"options": {"file": "words.json"}}},
        {"type": "enum", "name": "e"},
        {"type": "enum", "name": "e", "symbols": []},
        {"type": "string", "arg.properties": {"length": {"min": 1}}},
        {"type": "string", "arg.properties": {"length": {"min": 5, "max": 2}}},
    ],
)
def test_a_schema_that_no_values_are_made_by_is_refused_before_a_task_runs(member: Mapping[str, object]) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "a", "type": member}]}
    with pytest.raises(ConfigError, match="No rows are made by it") as caught:
        DatagenConnector(config(schema_string=json.dumps(schema))).check(Deadline.after(60))
    assert caught.value.key == "schema.string"


def test_a_schema_of_no_end_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"schema\.string"):
        DatagenConnector(config(schema_string="[" * 100_000)).check(Deadline.after(60))


@pytest.mark.parametrize("given", [{}, {"quickstart": "users", "schema.string": "{}"}])
def test_one_key_says_what_rows_are(given: Mapping[str, str]) -> None:
    with pytest.raises(ConfigError, match="One of quickstart, schema"):
        config(**given)


def test_a_file_of_the_worker_is_read_where_it_allows_that(tmp_path: Path) -> None:
    file = tmp_path / "visit.avsc"
    file.write_text(json.dumps(SCHEMA))
    assert len(poll(task(schema_filename=str(file)))) == BLOCK_ROWS
    with pytest.raises(ConfigError, match=r"allowed\.paths"):
        DatagenConfig.parse({"kafka.topic": "t", "schema.filename": str(file)})


def test_an_offset_that_is_no_iteration_is_refused() -> None:
    connector = DatagenConnector(config(quickstart="users"))
    assert connector.alter_offsets([SourcePosition({"task.id": 0}, {"current.iteration": 5})])
    with pytest.raises(ConnectError, match="value of type str: it must be a whole number"):
        connector.alter_offsets([SourcePosition({"task.id": 0}, {"current.iteration": "5"})])


def test_it_is_found_by_the_names_of_the_java_connector() -> None:
    for name in ("io.confluent.kafka.connect.datagen.DatagenConnector", "DatagenConnector", "Datagen"):
        assert Catalog.installed().connector(name).config is DatagenConfig


@pytest.mark.parametrize("text", ["a|b", "(ab)", "^a", "[^a]", "a{3,1}", r"\D", r"a\tb", r"[\n]", "[z-a]"])
def test_a_pattern_that_no_text_is_made_by_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"No text is made by|ends before it begins"):
        Pattern(text)


def test_what_a_pattern_leaves_no_choice_of_is_not_drawn() -> None:
    dice, one_draw = random.Random(1), random.Random(1)
    assert re.fullmatch("User_[1-9]--", Pattern("User_[1-9]-{2}").text(dice))
    one_draw.choices("123456789")
    assert dice.getstate() == one_draw.getstate()


def test_no_key_comes_twice_in_a_map() -> None:
    few = {
        "type": "map",
        "values": "int",
        "arg.properties": {"length": {"min": 2, "max": 5}, "keys": {"regex": "[ab]"}},
    }
    schema = {"type": "record", "name": "r", "fields": [{"name": "more", "type": few}]}
    batch = poll(task(schema_string=json.dumps(schema), iterations="50"))
    assert {len(row["more"]) for row in batch.values.rows()} <= {1, 2}


def kept() -> int:
    """Return how many pools of texts there are."""
    gc.collect()
    return sum(isinstance(one, TextPool) for one in gc.get_objects())


def test_tasks_that_have_ended_leave_no_texts_behind() -> None:
    poll(task(quickstart="users", iterations="2"))
    before = kept()
    for _ in range(10):
        poll(task(quickstart="users", iterations="2"))
    assert kept() == before


def test_a_task_that_has_made_all_its_rows_keeps_no_block_of_them() -> None:
    one = task(quickstart="users", iterations="2", random_seed="7")
    made = poll(one)
    during = kept()
    for _ in range(2):
        assert one.poll(Deadline.after(0)) is None
    assert kept() < during
    assert len(made) == 2
