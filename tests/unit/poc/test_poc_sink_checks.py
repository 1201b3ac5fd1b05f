"""Checks the judgements of a sink's evaluation: which records, what must be in the target, what a comparison says."""

from __future__ import annotations

from collections import Counter

import pytest

from connect.api import schema as s
from connect.api.errors import ConnectError
from connect.api.records import TopicPartition
from connect.poc.sandbox.faults import KILL, CausedFault, Faults
from connect.poc.sandbox.result import Outcome
from connect.poc.sandbox.timeline import Reading
from connect.poc.sink.made_records import VALUE, made_records, made_row
from connect.poc.sink.sink_checks import expected_rows, judge_round_trip
from connect.poc.sink.sink_delivery import compare_targets, judge_sink_delivery
from connect.poc.sink.sink_run import SinkRun
from connect.poc.sink.sink_schema_change import FIELD, changed_records, has_registry, judge_schema_change
from connect.runtime.calls.newest_records import FURTHEST_OFFSETS, earlier_spans, newest_spans, wanted_topics
from connect.runtime.parts.connector_settings import ConnectorSettings

TP = TopicPartition("t", 0)
KEPT = {"t-0": list(range(10))}
JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"


def run(rows: str, committed: int = 10, put: int = 10, **more) -> SinkRun:
    return SinkRun("r", {TP: committed}, Counter(rows), readings=[Reading(9.0, put)], **more)


def sample(**more):
    return {"kept": KEPT, "refused_rows": 0, "refused": [], "tombstones": 0, **more}


def parts_of(value_converter: str = JSON):
    worker = {
        "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
        "status.storage.topic": "s", "key.converter": JSON, "value.converter": value_converter,
    }  # fmt: skip
    return ConnectorSettings(worker, {"name": "n", "connector.class": "FileStreamSink", "topics": "t"}).open()


def test_only_records_before_the_committed_offset_have_to_be_there():
    assert expected_rows(KEPT, {TP: 4}) == 4
    assert expected_rows({"t-0": [0, 2, 7]}, {TP: 7}) == 2, "filtered records are no rows"
    assert expected_rows(KEPT, {}) == 0


@pytest.mark.parametrize(
    ("found", "outcome", "defects"),
    [
        (run("abcdefghij"), Outcome.PASS, set()),
        (run("abcdefghi"), Outcome.FAIL, {"lost"}),
        (run("abcdefghijj"), Outcome.WARN, {"duplicate"}),
        (run("abcdefghijj", is_once=True), Outcome.FAIL, {"duplicate"}),
        (run("abc", merges=True), Outcome.PASS, set()),
        (run("", committed=0), Outcome.NOT_TESTED, set()),
        (run("", failure="it broke"), Outcome.FAIL, {"refused"}),
        (run("", committed=0, put=0), Outcome.FAIL, {"stuck"}),
    ],
)
def test_every_committed_record_has_to_be_a_row(found, outcome, defects):
    told = judge_round_trip(found, sample())
    assert (told.outcome, told.defects) == (outcome, defects)


def test_records_that_cannot_be_converted_do_not_fit():
    told = judge_round_trip(run("abc"), sample(refused_rows=2, refused=["why"]))
    assert (told.outcome, told.defects) == (Outcome.FAIL, {"refused"})


@pytest.mark.parametrize(
    ("killed", "lost", "duplicate"),
    [
        (run("abcdefghij"), 0, 0),
        (run("abcdefghii"), 1, 1),
        (run("abcdefgh"), 2, 0),
        (run("abcdefghijjj"), 0, 2),
        (run("abcdefgh", committed=8), 0, 0),
        (run("abcdefg", committed=8), 1, 0),
        (run("abcdefghh", committed=8), 0, 1),
        (run("abc", committed=8, merges=True), None, None),
    ],
    ids=["equal", "both", "lost", "twice", "shorter", "shorter and lost", "shorter and twice", "shorter and merged"],
)
def test_rows_of_a_killed_run_are_compared_as_far_as_it_has_committed(killed, lost, duplicate):
    told = compare_targets(run("abcdefghij"), killed, KEPT)
    assert (told.lost, told.duplicate) == (lost, duplicate)


@pytest.mark.parametrize(("is_once", "outcome"), [(True, Outcome.FAIL), (False, Outcome.WARN)])
def test_a_repeated_row_breaks_a_promise_where_there_is_one(is_once, outcome):
    killed = run("abcdefghijj", is_once=is_once)
    faults = Faults([], done=[CausedFault(KILL, rows=1, under_way=1, after_s=1.0, what="")])
    told = judge_sink_delivery(killed, compare_targets(run("abcdefghij"), killed, KEPT), faults)
    assert (told.outcome, told.defects) == (outcome, {"duplicate"})


def test_a_merging_sink_that_stopped_early_is_not_said_to_have_lost_nothing():
    killed = run("abc", committed=8, merges=True)
    faults = Faults([], done=[CausedFault(KILL, rows=1, under_way=1, after_s=1.0, what="")])
    told = judge_sink_delivery(killed, compare_targets(run("abcdefghij"), killed, KEPT), faults)
    assert (told.outcome, told.figures) == (Outcome.NOT_TESTED, {"faults": 1})
    assert "cannot be compared" in told.summary
    assert told.tables[0].rows[0][2:] == ("not compared", "not compared")


def test_topics_are_those_that_are_named_or_match():
    known = ["orders", "orders-old", "other"]
    assert wanted_topics({"topics": " a, b,"}, known) == ["a", "b"]
    assert wanted_topics({"topics.regex": "orders.*"}, known) == ["orders", "orders-old"]
    with pytest.raises(ConnectError, match="no regular expression"):
        wanted_topics({"topics.regex": "("}, known)
    with pytest.raises(ConnectError, match="was given up after 1 s") as slow:
        wanted_topics({"topics.regex": "(a|aa)+b"}, ["a" * 249])
    assert slow.value.key == "topics.regex"


def test_the_newest_records_come_from_every_partition_that_has_some():
    other, empty = TopicPartition("t", 1), TopicPartition("t", 2)
    spans = newest_spans({TP: 0, other: 95, empty: 5}, {TP: 1000, other: 100, empty: 5}, 20)
    assert spans == {TP: (990, 1000), other: (95, 100)}


def test_records_before_those_that_were_read_are_looked_for_until_the_beginning_or_the_limit():
    ends = {TP: 1000}
    earlier = earlier_spans({TP: (990, 1000)}, {TP: 100}, ends)
    assert earlier == {TP: (950, 990)}
    assert earlier_spans(earlier, {TP: 100}, ends) == {TP: (750, 950)}
    assert earlier_spans({TP: (100, 990)}, {TP: 100}, ends) == {}
    far = {TP: 10 * FURTHEST_OFFSETS}
    assert earlier_spans({TP: (far[TP] - FURTHEST_OFFSETS, far[TP])}, {TP: 0}, far) == {}


def test_made_records_are_rows_texts_or_bytes_as_the_converters_take_them():
    (raw,) = made_records(parts_of(), "t", 3)
    (column,) = parts_of().converters.value.decode("t", raw.values)
    assert column.schema == VALUE
    assert [dict(row) for row in column.rows()] == [made_row(1), made_row(2), made_row(3)]
    (raw,) = made_records(parts_of("org.apache.kafka.connect.converters.ByteArrayConverter"), "t", 1)
    assert raw.values.to_pylist() == ["1 \U0001f980"[:2].encode()]


def test_a_changed_record_has_one_field_more():
    parts = parts_of()
    (changed,) = changed_records(parts, made_records(parts, "t", 2))
    (column,) = parts.converters.value.decode("t", changed.values)
    assert column.schema.field(FIELD) == s.STRING.as_optional()
    assert [dict(row) for row in column.rows()] == [{**made_row(i), FIELD: "added"} for i in (1, 2)]
    texts = parts_of(STRING)
    with pytest.raises(ConnectError, match="no rows of one schema"):
        changed_records(texts, made_records(texts, "t", 1))


def test_what_a_changed_schema_does_is_told():
    assert judge_schema_change(run("abcdefghij"), 5, 5, 10).outcome is Outcome.PASS
    assert "3 of them wait" in judge_schema_change(run("abcdefghij"), 5, 2, 10).summary
    assert judge_schema_change(run("abcdefgh"), 5, 5, 10).defects == {"lost"}
    assert judge_schema_change(run("abcdefghij"), 5, 0, 10).outcome is Outcome.NOT_TESTED
    assert judge_schema_change(run("", failure="no column"), 5, 0, 0).defects == {"schema"}


def test_a_registry_is_known_by_its_key():
    assert has_registry({"value.converter.schema.registry.url": "u"}, {})
    assert has_registry({}, {"value.converter.schema.registry.url": "u"})
    assert not has_registry({"value.converter": JSON}, {"value.converter.schema.registry.url": "u"})
