"""Checks that a source's bad rows become letters that hold them as they were polled; the others go on, in order."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest

from connect.api import schema as s
from connect.api.errors import ConnectError, RejectedRowsError, SchemaError
from connect.api.records import Batch, Column, Header, SourcePosition
from connect.dlq.current_pipelines import LetterRefusedError, source_row
from connect.dlq.letter import letters_in
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_chain, build_converters
from connect.runtime.records.chain import Link
from connect.runtime.records.pipeline import SourcePipeline
from connect.runtime.records.source_letters import SourceDeadLetters
from connect.runtime.records.tolerance import Tolerance, ToleranceExceededError
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.runtime.settings.internal_topics import ReservedTopics
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.task_id import TaskId
from connect.runtime.task.task_metrics import TaskFigures

JSON = {"key.converter": "JsonConverter", "value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
CHAIN = {
    "transforms": "only,route,cast",
    "transforms.only.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
    "transforms.only.exclude": "secret",
    "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": "(.*)",
    "transforms.route.replacement": "new-$1",
    "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.cast.spec": "n:int8",
}
WORKER = WorkerConfig.parse({
    "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "new-configs",
    "offset.storage.topic": "o", "status.storage.topic": "s", **JSON,
})  # fmt: skip
ROW = s.struct({"n": s.STRING, "secret": s.STRING})


def pipeline(links=None, **settings):
    raw = {"name": "orders", "connector.class": "c", "errors.tolerance": "all", **JSON, **CHAIN, **settings}
    catalog = Catalog.installed()
    config = SourceConnectorConfig.parse(raw)
    converters = build_converters(catalog, raw, {})
    letters = SourceDeadLetters("dlq", TaskId("orders", 3), converters.header, context_headers=True)
    tolerance = Tolerance(config, TaskFigures(), letters.add)
    chain = links or build_chain(catalog, config, {})
    return SourcePipeline(chain, converters, tolerance.give_up, letters, reserved=ReservedTopics(WORKER))


def batch(*texts, headers=None, arrow=True):
    rows = Column.from_rows([{"n": text, "secret": f"s{text}"} for text in texts], ROW)
    column = Column.from_arrow(rows.arrow(), ROW) if arrow else rows
    keys = Column.from_rows([f"k{text}" for text in texts], s.STRING)
    times = pa.array([1000 + i for i in range(len(texts))], pa.int64())
    return Batch("orders", column, keys, headers, times, position=SourcePosition({"f": "x"}, {"at": 9}))


def rows_of(encoded):
    return [json.loads(value) for raw in encoded.rows for value in raw.values.to_pylist()]


@pytest.mark.parametrize("arrow", [True, False])
def test_a_bad_row_is_set_aside_as_it_was_polled(arrow):
    headers = [[Header("trace", f"t{i}")] for i in range(5)]
    encoded = pipeline().encode(batch("1", "x", "3", "300", "5", headers=headers, arrow=arrow))
    assert rows_of(encoded) == [{"n": 1}, {"n": 3}, {"n": 5}]
    assert {raw.topic for raw in encoded.rows} == {"new-orders"}
    (letter,) = encoded.letters
    assert letter.topic == "dlq"
    values = [json.loads(value) for value in letter.values.to_pylist()]
    assert [value["payload"] for value in values] == [{"n": "x", "secret": "sx"}, {"n": "300", "secret": "s300"}]
    assert [f["field"] for f in values[0]["schema"]["fields"]] == ["n", "secret"]
    assert [json.loads(key)["payload"] for key in letter.keys.to_pylist()] == ["kx", "k300"]
    assert letter.timestamps_ms.to_pylist() == [1001, 1003]
    first = dict(letter.headers[0])
    assert b"SchemaError: Value (x) was out" in first.pop("__connect.errors.exception.stacktrace")
    assert first == {
        "trace": b"t1",
        "__connect.errors.topic": b"new-orders",
        "__connect.errors.connector.name": b"orders",
        "__connect.errors.task.id": b"3",
        "__connect.errors.stage": b"TRANSFORMATION",
        "__connect.errors.class.name": b"org.apache.kafka.connect.transforms.Cast$Value",
        "__connect.errors.exception.class.name": b"org.apache.kafka.connect.errors.DataException",
        "__connect.errors.exception.message": b"Value (x) was out of range for requested data type",
        "__connect.errors.source.format": b"json",
        "__connect.errors.source.topic": b"orders",
        "__connect.errors.source.partition": b'{"f": "x"}',
        "__connect.errors.source.offset": b'{"at": 9}',
    }


def test_rows_that_a_transform_sends_to_a_topic_of_the_clusters_state_are_bad_rows():
    polled = batch("1", "2")
    encoded = pipeline().encode(Batch("configs", polled.values, polled.keys, position=polled.position))
    assert encoded.rows == []
    (letters,) = encoded.letters
    told = [dict(headers) for headers in letters.headers]
    assert [headers["__connect.errors.stage"] for headers in told] == [b"KAFKA_PRODUCE"] * 2
    assert b"Topic new-configs holds this cluster's own state" in told[0]["__connect.errors.exception.message"]
    strict = pipeline(**{"errors.tolerance": "none"})
    with pytest.raises(ToleranceExceededError, match="new-configs holds this cluster's own state"):
        strict.encode(Batch("configs", polled.values, polled.keys, position=polled.position))


def test_headers_of_good_rows_are_as_they_were():
    encoded = pipeline().encode(batch("1", "x", headers=[[Header("trace", "t0")], []]))
    assert encoded.rows[0].headers == [[("trace", b"t0")]]
    encoded = pipeline().encode(batch("1", "x"))
    assert encoded.rows[0].headers is None


class LosesHeaders:
    """Makes batches anew, as a careless plug-in does, and drops every second row."""

    def apply(self, given):
        kept = [i for i in range(len(given)) if i % 2 == 0 or len(given) == 1]
        part = given.take(kept)
        bad = {i: ValueError("x") for i, row in enumerate(part.values.rows()) if row["n"] == "x"}
        if bad:
            raise RejectedRowsError(bad)
        return [Batch("t", part.values, position=given.position)]


def test_rows_are_told_apart_even_behind_a_transform_that_drops_headers():
    links = [Link("loses", LosesHeaders()), Link("again", LosesHeaders())]
    encoded = pipeline(links).encode(batch("x", "2", "3"))
    assert [json.loads(v)["payload"]["n"] for raw in encoded.letters for v in raw.values.to_pylist()] == ["x"]
    assert [row["n"] for row in rows_of(encoded)] == ["2", "3"]


class Twice:
    """One row to two, of which the second is bad when the row is."""

    def apply(self, given):
        return [given.take([i for i in range(len(given)) for _ in range(2)])]


class SecondIsBad:
    def apply(self, given):
        rows = given.values.rows()
        bad = {i: ValueError("second") for i in range(1, len(rows)) if rows[i]["n"] == rows[i - 1]["n"] == "x"}
        if bad:
            raise RejectedRowsError(bad)
        return [given]


def test_a_row_of_which_one_part_is_bad_is_set_aside_whole():
    encoded = pipeline([Link("twice", Twice()), Link("second", SecondIsBad())]).encode(batch("1", "x", "3"))
    assert [row["n"] for row in rows_of(encoded)] == ["1", "1", "3", "3"]
    assert sum(len(letter) for letter in encoded.letters) == 1


def test_a_row_without_a_json_form_is_kept_as_text():
    given = Batch("orders", Column.from_rows([{"n": "1"}, {"n": object()}], None))
    encoded = pipeline([]).encode(given)
    (letter,) = encoded.letters
    assert letter.values.to_pylist()[0].startswith(b"{'n': <object object")
    assert dict(letter.headers[0])["__connect.errors.source.format"] == b"text"


LINES = Batch("orders", Column.from_rows([b"a\xff", b"b\xff"], s.BYTES), position=SourcePosition({"f": "x"}, {"at": 9}))


def test_what_the_source_gives_up_is_kept_as_it_gave_it():
    (letter,) = pipeline().reject("FileStreamSource", LINES, {1: ValueError("It is no text.")})
    assert [json.loads(value)["payload"] for value in letter.values.to_pylist()] == ["Yv8="]
    headers = dict(letter.headers[0])
    assert headers["__connect.errors.stage"] == b"TASK_POLL"
    assert headers["__connect.errors.class.name"] == b"FileStreamSource"
    assert headers["__connect.errors.exception.message"] == b"It is no text."
    assert headers["__connect.errors.source.offset"] == b'{"at": 9}'


def test_what_the_source_gives_up_ends_the_task_without_tolerance():
    with pytest.raises(ToleranceExceededError, match="TASK_POLL by FileStreamSource failed for orders: ValueError: no"):
        pipeline(**{"errors.tolerance": "none"}).reject("FileStreamSource", LINES, {0: ValueError("no text")})


def test_without_tolerance_nothing_is_sent():
    with pytest.raises(ToleranceExceededError, match="Cast"):
        pipeline(**{"errors.tolerance": "none"}).encode(batch("1", "x"))


def replayed(letters, **settings):
    """Return the rows of letters, and their headers as they are written again."""
    converter = build_converters(Catalog.installed(), {"name": "orders", **JSON, **settings}, {})
    places = pa.array(range(len(letters)), pa.int64())
    found = [source_row(one, converter.header) for one in letters_in(replace(letters, offsets=places))]
    assert all(len(row) == 1 for row in found)
    return [[(h, converter.header.encode("orders", h)) for h in row.headers[0]] for row in found]


@pytest.mark.parametrize(
    "header",
    [
        *(Header("h", text, s.STRING) for text in ("007", "1.0", "1e3", "null", "2020-02-31", "[1, 2]", "x", "7")),
        Header("h", 123456789.123456789, s.FLOAT64), Header("h", 7, s.INT64), Header("h", b"\x00\xff", s.BYTES),
        Header("h", True, s.BOOLEAN), Header("h", {"a": "01"}, s.map_of(s.STRING, s.STRING)),
    ],
    ids=str,
)  # fmt: skip
def test_a_letter_keeps_headers_with_their_types(header):
    (letter,) = pipeline().encode(batch("x", headers=[[header]])).letters
    written = dict(letter.headers[0])["h"]
    (((found, again),),) = replayed(letter)
    assert (found.value, found.schema) == (header.value, header.schema)
    assert again == written


@pytest.mark.parametrize("text", ["007", "1.0", "null", "2020-02-31", "x", "7"])
def test_a_header_whose_type_no_letter_tells_is_written_in_its_bytes_again(text):
    (letter,) = pipeline().encode(batch("x", headers=[[Header("h", text)]])).letters
    assert "__connect.errors.source.headers" not in dict(letter.headers[0])
    (((_, again),),) = replayed(letter)
    assert again == dict(letter.headers[0])["h"] == text.encode()


def test_a_header_that_another_converter_writes_otherwise_keeps_its_letter_from_a_replay():
    (letter,) = pipeline().encode(batch("x", headers=[[Header("h", "[1, 2]")]])).letters
    with pytest.raises(LetterRefusedError, match="'h' of the letter would be written in other bytes"):
        replayed(letter, **{"header.converter": "JsonConverter", "header.converter.schemas.enable": "false"})


def test_a_header_that_cannot_be_written_is_still_bad_at_a_replay_and_never_a_text_of_python():
    bytes_alone = {"header.converter": "org.apache.kafka.connect.converters.ByteArrayConverter"}
    typed, untyped = Header("h", {"a": 1}, s.struct({"a": s.INT32})), Header("h", {"a": 1})
    (letter,) = pipeline(**bytes_alone).encode(batch("1", headers=[[typed]])).letters
    converters = build_converters(Catalog.installed(), {"name": "orders", **bytes_alone, **JSON}, {})
    (found,) = letters_in(replace(letter, offsets=pa.array([0], pa.int64())))
    (header,) = source_row(found, converters.header).headers[0]
    assert (header.value, header.schema) == (typed.value, typed.schema)
    with pytest.raises(SchemaError):
        converters.header.encode("orders", header)

    (letter,) = pipeline(**bytes_alone).encode(batch("1", headers=[[untyped]])).letters
    (found,) = letters_in(replace(letter, offsets=pa.array([0], pa.int64())))
    with pytest.raises(ConnectError, match="a header of it had no form"):
        source_row(found, converters.header)


@pytest.mark.parametrize("texts", ["{", "7", "[7]", "[]", "[null,null]"])
def test_a_letter_that_says_nonsense_of_its_headers_is_refused(texts):
    (letter,) = pipeline().encode(batch("x", headers=[[Header("h", "1", s.STRING)]])).letters
    forged = [(k, texts.encode() if k == "__connect.errors.source.headers" else v) for k, v in letter.headers[0]]
    with pytest.raises(LetterRefusedError, match="headers"):
        replayed(replace(letter, headers=[forged]))
