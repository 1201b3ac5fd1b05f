"""Checks which letters a person means, and what is read of one."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from click.testing import CliRunner

from connect.api.errors import ConfigError
from connect.cli.dlq import dlq
from connect.dlq.current_pipelines import LetterRefusedError, original_of
from connect.dlq.letter import Letter, Place, letters_in
from connect.dlq.letters import LetterTopic
from connect.dlq.selection import Selection, parse_error, parse_moment, parse_place, parse_span, parse_stage
from connect.dlq.text import as_json, in_full
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline

PREFIX = "__connect.errors."


def letter(timestamp_ms: int | None = 5000, value: bytes | None = b"v", **context: str) -> Letter:
    known = {
        "topic": "t", "partition": "2", "offset": "9", "connector.name": "orders", "stage": "TASK_PUT",
        "exception.class.name": "SchemaError", "exception.message": "Value was out of range", **context,
    }  # fmt: skip
    headers = [("own", b"1"), *((PREFIX + name, text.encode()) for name, text in known.items() if text)]
    raw = RawBatch(
        "dlq", pa.array([value], pa.binary()), pa.array([b"k"], pa.binary()), [headers],
        pa.array([timestamp_ms], pa.int64()), partition=1, offsets=pa.array([17], pa.int64()), next_offset=18,
    )  # fmt: skip
    (found,) = letters_in(raw)
    return found


@pytest.mark.parametrize(
    ("selection", "matches"),
    [
        (Selection(), True),
        (Selection(connector="orders", topic="t", stage="TASK_PUT"), True),
        (Selection(connector="other"), False),
        (Selection(topic="dlq"), False),
        (Selection(error=re.compile("OUT of", re.IGNORECASE)), True),
        (Selection(error=re.compile("^SchemaError: Value")), True),
        (Selection(error=re.compile("Memory")), False),
        (Selection(since_ms=5000, until_ms=5001), True),
        (Selection(since_ms=5001), False),
        (Selection(until_ms=5000), False),
        (Selection(places=frozenset({Place(1, 17)})), True),
        (Selection(places=frozenset({Place(0, 17)})), False),
    ],
)
def test_a_selection_means_letters_that_meet_all_of_it(selection: Selection, matches: bool) -> None:
    assert selection.matches(letter()) is matches


def test_a_letter_without_a_time_is_meant_only_where_no_time_is_asked_for() -> None:
    assert Selection().matches(letter(timestamp_ms=None))
    assert not Selection(since_ms=0).matches(letter(timestamp_ms=None))


@pytest.mark.parametrize(
    ("text", "wanted_ms"),
    [
        ("30s", 970_000), ("5m", 700_000), ("1970-01-01T00:00:10", 10_000), ("1970-01-01T01:00:10+01:00", 10_000),
        (None, None),
    ],
)  # fmt: skip
def test_times_are_so_long_ago_or_a_date(text: str | None, wanted_ms: int | None) -> None:
    assert parse_moment("--since", text, 1000.0) == wanted_ms


def test_what_is_no_time_place_or_pattern_is_told() -> None:
    with pytest.raises(ConfigError, match=r"--since 'soon' is no time\. Write 30m"):
        parse_moment("--since", "soon", 0)
    with pytest.raises(ConfigError, match="'x' is no letter's place"):
        parse_place("x")
    with pytest.raises(ConfigError, match="no regular expression"):
        parse_error("(")
    with pytest.raises(ConfigError, match="'0:-1' is no letter's place"):
        parse_place("0:-1")
    with pytest.raises(ConfigError, match=r"--stage 'PUT' is no stage. There are TASK_PUT, .*TRANSFORMATION"):
        parse_stage("PUT")
    with pytest.raises(ConfigError, match="--since 1h is not before --until 2h: no letter is between them"):
        parse_span("1h", "2h", 1000.0)
    assert (parse_stage("task_put"), parse_stage(None), parse_span("2h", "1h", 7200.0)) == (
        "TASK_PUT", None, (0, 3_600_000),
    )  # fmt: skip
    assert (parse_place("3:4"), parse_place("7")) == (Place(3, 4), Place(0, 7))


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("list", "d", "--since", "soon"), 1, "--since 'soon' is no time."),
        (("list", "d", "--limit", "-1"), 2, "-1 is not in the range x>=0"),
        (("replay", "d", "--letter", "0:x"), 1, "'0:x' is no letter's place."),
        (("replay", "d", "--error", "("), 1, "--error '(' is no regular expression"),
        (("show", "d", "x"), 1, "'x' is no letter's place."),
        (("purge", "d", "--stage", "nope"), 1, "--stage 'nope' is no stage."),
        (("purge", "d", "--all", "--replayed"), 2, "--replayed and --all are two different things."),
        (("purge", "d"), 2, "Say what to delete"),
    ],
)
def test_a_broken_filter_is_told_before_anything_is_asked_of_kafka(
    arguments: tuple[str, ...], code: int, said: str
) -> None:
    told = CliRunner().invoke(dlq, [*arguments, "--worker", "no-such-file.properties"])
    assert (told.exit_code, said in told.output) == (code, True), told.output


def test_a_sinks_record_goes_back_as_it_was() -> None:
    original = original_of(letter())
    assert (original.topic, original.partition, original.headers) == ("t", 2, [[("own", b"1")]])
    assert (original.keys.to_pylist(), original.values.to_pylist()) == ([b"k"], [b"v"])
    assert original.timestamps_ms.to_pylist() == [5000]
    with pytest.raises(LetterRefusedError, match=r"does not say where it came from. Give --to TOPIC"):
        original_of(letter(topic=""))


def test_what_is_shown_of_a_letter() -> None:
    full = in_full(letter(value=b"\xff"), replayed=True)
    for line in (
        "letter            1:17",
        "from              t-2@9",
        "value             b'\\xff'",
        "replayed          yes",
    ):
        assert line in full.splitlines()
    told = as_json(letter(value=b"\xff"), replayed=False)
    assert (told["value_base64"], told["origin"], told["headers"]) == ("/w==", "t-2@9", {"own": "1"})


def test_a_mark_is_of_one_letter_and_not_of_a_later_one_at_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = LetterTopic({"bootstrap.servers": "127.0.0.1:1"}, "dlq")
    marks = topic.marks([letter(timestamp_ms=5000)])
    monkeypatch.setattr(topic, "_records", lambda name, deadline: [marks] if name == "dlq.replayed" else [])
    done = topic.replayed(Deadline.after(1))
    assert letter(timestamp_ms=5000).identity in done
    assert letter(timestamp_ms=6000).identity not in done


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"x"), (b"[0,1]", b"[" * 100_000), (b"[" * 100_000, b"{}"), (b"[0]", b"{}"), (b"7", b"{}"),
        (b"[0,1]", b"[]"),
        (b"[0,[]]", b"{}"), (b"[0,1]", b'{"timestamp_ms": []}'), (b"\xff", b"\xff"),
    ],
)  # fmt: skip
def test_a_record_that_is_no_mark_is_left_out(monkeypatch: pytest.MonkeyPatch, key: bytes, value: bytes) -> None:
    topic = LetterTopic({"bootstrap.servers": "127.0.0.1:1"}, "dlq")
    planted = RawBatch("dlq.replayed", pa.array([value], pa.binary()), pa.array([key], pa.binary()))
    batches = [planted, topic.marks([letter()])]
    monkeypatch.setattr(topic, "_records", lambda name, deadline: batches)
    assert topic.replayed(Deadline.after(1)) == {letter().identity}


def letter_of(*headers: tuple[str, str]) -> Letter:
    raw = RawBatch(
        "dlq", pa.array([b"v"], pa.binary()), headers=[[(name, text.encode()) for name, text in headers]],
        partition=1, offsets=pa.array([17], pa.int64()), next_offset=18,
    )  # fmt: skip
    return letters_in(raw)[0]


def context_of(**texts: str) -> list[tuple[str, str]]:
    return [(PREFIX + name.replace("_", "."), text) for name, text in texts.items()]


def test_a_sinks_record_with_headers_of_a_letter_goes_back_to_its_own_topic() -> None:
    """A sink that reads a topic of dead letters keeps the headers of the letter that it gave up."""
    kept = [("own", "1"), *context_of(topic="t", stage="TRANSFORMATION", source_format="json", source_topic="rows")]
    found = letter_of(*kept, *context_of(topic="letters", partition="0", offset="7", stage="TASK_PUT"))
    assert (found.topic, found.origin, found.source_format, found.stage) == (
        "letters", "letters-0@7", None, "TASK_PUT",
    )  # fmt: skip
    assert found.headers == [(name, text.encode()) for name, text in kept]


def test_a_sources_row_with_headers_of_a_letter_goes_to_the_topic_that_it_was_given() -> None:
    kept = context_of(topic="t", partition="3", offset="9")
    found = letter_of(*kept, *context_of(topic="routed", source_format="json", source_topic="rows"))
    assert (found.topic, found.origin, found.source_format) == ("rows", "rows", "json")
    assert found.headers == [(name, text.encode()) for name, text in kept]


def test_a_letter_without_a_topic_has_its_own_headers_still() -> None:
    found = letter_of(("a", "1"), *context_of(stage="TASK_PUT"), ("b", "2"))
    assert (found.topic, found.stage, found.headers) == ("", "TASK_PUT", [("a", b"1"), ("b", b"2")])
