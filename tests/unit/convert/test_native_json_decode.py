"""The native JSON reader takes what Arrow's takes, to the same columns, or leaves the batch to it."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa
import pytest
from convert_strategies import json_values
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connect import native
from connect.api.records import Column
from connect.convert.json.decode import read_values
from connect.convert.json.infer import SchemalessReader
from connect.convert.json.read import Reading
from connect.convert.plain.columns import NotColumnarError

pytestmark = pytest.mark.skipif(
    native.module() is None, reason="NOT CHECKED: connect.native was not built; it needs a C++17 compiler at install"
)
THOROUGH = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def binary(rows: list[bytes | None]) -> pa.BinaryArray:
    return pa.array(rows, pa.binary())


def by_arrow(data: pa.BinaryArray, monkeypatch: pytest.MonkeyPatch) -> pa.Array | None:
    with monkeypatch.context() as without:
        without.setattr(native, "infer_json", lambda *_: None)
        try:
            return SchemalessReader(Reading()).read(data)[0]
        except NotColumnarError:
            return None


def by_native(data: pa.BinaryArray, monkeypatch: pytest.MonkeyPatch) -> pa.Array | None:
    made = native.decode_json(data, None)
    if made is None:
        return None
    made.validate(full=True)
    with monkeypatch.context() as alone:
        alone.setattr("connect.convert.json.infer.read_values", lambda *_: pytest.fail("Arrow's reader was asked"))
        array, is_whole, _ = SchemalessReader(Reading()).read(data)
    if is_whole:
        assert array.to_pylist() == [None if row is None else json.loads(row) for row in data.to_pylist()]
    return array


def sorted_fields(kind: Any) -> Any:
    """Behind the fields of the first row, Arrow's order of fields hangs on which texts look like times.

    What is null in all rows is text, as readers of JSON have it.
    """
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct(sorted(((f.name, sorted_fields(f.type)) for f in kind), key=lambda field: field[0]))
    return pa.list_(sorted_fields(kind.value_type)) if pa.types.is_list(kind) else kind


def test_the_columns_of_ordinary_rows_are_arrows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[Any] = [
        {"i": 1, "f": 0.1, "mixed": 1, "s": "plain", "b": True, "when": "2024-05-01 10:00:00", "l": [1, 2.5],
         "o": {"x": None, "y": "é\n\t\"\\/😀"}, "n": None, "big": 2**63 - 1, "small": -(2**63), "": "no name"},
        None,
        {"f": 1e-7, "i": -17, "later": [[], [{"z": False}]], "mixed": 2.5, "s": None, "l": [], "o": None,
         "n": None, "big": 0, "small": 0, "long": 123456.789012345678, "tiny": 5e-324, "huge": 4503599627370495.5},
    ]  # fmt: skip
    data = binary([None if row is None else json.dumps(row).encode() for row in rows])
    ours, arrows = by_native(data, monkeypatch), by_arrow(data, monkeypatch)
    assert ours is not None
    assert arrows is not None
    assert ours.type == arrows.type
    assert ours.equals(arrows)
    shifted = pa.concat_arrays([binary([b"not json"] * 3), data]).slice(3)
    assert ours.equals(by_native(shifted, monkeypatch))


@pytest.mark.parametrize(
    "row",
    [
        b"", b" ", b"1", b"[]", b"{}", b'{"a":1', b'{"a":1}}', b'{"a":1} {"a":2}', b'{"a":1,}', b'{,"a":1}',
        b'{"a":01}', b'{"a":+1}', b'{"a":-}', b'{"a":1.}', b'{"a":.5}', b'{"a":1e}', b'{"a":-0}', b'{"a":NaN}',
        b'{"a":9223372036854775808}', b'{"a":-9223372036854775809}', b'{"a":1e999}', b'{"a":9007199254740993.0}',
        b'{"a":"\xff"}', b'{"a":"\xc0\x80"}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\xf4\x90\x80\x80"}', b'{"a":"\xe2\x82"}',
        b'{"a":"\\ud800"}', b'{"a":"\\udc00"}', b'{"a":"\\ud800\\u0041"}', b'{"a":"\\u00g0"}', b'{"a":"\\x"}',
        b'{"a":"\n"}', b'{"a":"', b'{"a":1,"a":2}', b'{"a":1,"\\u0061":2}', b'{"a\x00":1}', b'{"\\u0000":1}',
        b'{"a":[]}', b'{"a":[null]}', b'{"a":{}}', b'{"a":[1,"x"]}', b'{"a":tru}', b'{"a":truex}', b"\xef\xbb\xbf{}",
        b'{"a":' + b"[" * 100 + b"]" * 100 + b"}", b"{'a':1}", b'{"a" 1}', b'{"a":1 "b":2}', b"/**/{}",
    ],
)  # fmt: skip
def test_what_is_not_plain_is_left_to_the_other_reader(row: bytes) -> None:
    assert native.decode_json(binary([row]), None) is None


@pytest.mark.parametrize("other", ['"x"', "true", "{}", "[1]", "9007199254740993.5", "1e300"])
def test_a_column_of_mixed_types_is_left_to_the_other_reader(other: str) -> None:
    assert native.decode_json(binary([b'{"a":9007199254740993}', b'{"a":%s}' % other.encode()]), None) is None


def test_the_declared_type_is_kept_to() -> None:
    wire = pa.struct([
        ("i8", pa.int8()), ("i64", pa.int64()), ("f", pa.float32()), ("d", pa.float64()), ("s", pa.utf8()),
        ("day", pa.date32()), ("time", pa.time32("ms")), ("l", pa.list_(pa.int16())),
        ("o", pa.struct([("b", pa.bool_())])),
    ])  # fmt: skip
    data = binary([
        b'{"i8":-128,"i64":7,"f":0.1,"d":1,"s":"x","day":19000,"time":86399999,"l":[1,null],"o":{"b":true}}',
        None, b'{"o":null,"l":null,"f":3.4028235e38}', b'  {"i8":null, "l":[] , "o":{}}\r\n',
    ])  # fmt: skip
    ours = native.decode_json(data, wire)
    assert ours is not None
    ours.validate(full=True)
    assert ours.type == wire
    assert ours.equals(read_values(data, wire))


@pytest.mark.parametrize(
    "row", [b'{"i8":128}', b'{"i8":1.0}', b'{"i8":"1"}', b'{"s":1}', b'{"f":3.5e38}', b'{"other":1}', b'{"f":"1"}']
)
def test_what_does_not_fit_the_declared_type_is_left_to_the_other_reader(row: bytes) -> None:
    wire = pa.struct([("i8", pa.int8()), ("f", pa.float32()), ("s", pa.utf8())])
    assert native.decode_json(binary([row]), wire) is None


@pytest.mark.parametrize(
    ("rows", "is_whole"),
    [
        ([b'{"a":1,"b":null}', b'{"b":"x","a":2}', None, b"null"], True),
        ([b'{"a":{"x":1}}', b'{"a":null}', b'{"a":{"x":null}}'], True),
        ([None, b'{"a":[1.5,2.0]}'], True),
        ([b'{"a":1}', b'{"b":null,"a":1}'], False),
        ([b'{"b":null,"a":1}', b'{"a":1}'], False),
        ([b'{"a":{"x":1}}', b'{"a":{}}'], False),
        ([b'{"a":[{"x":1},{"y":1}]}'], False),
        ([b'{"a":1}', b'{"a":1.5}'], False),
        ([b'{"a":1.5}', b'{"a":1}'], False),
    ],
)
def test_columns_are_whole_where_every_row_can_be_told_from_them(rows: list[bytes | None], is_whole: bool) -> None:
    made = native.infer_json(binary(rows))
    assert made is not None
    assert made[1] == is_whole
    assert made[0].to_pylist() == [None if row is None else json.loads(row) for row in rows] or not is_whole


@pytest.mark.parametrize(
    ("row", "is_compact"),
    [
        (b'{"a":"x y\\n","b":[[1,2]],"c":{"d":2}}', True), (b' {"a":1}', False), (b'{"a":1}\n', False),
        (b'{ "a":1}', False), (b'{"a" :1}', False), (b'{"a":\t1}', False), (b'{"a":1 }', False),
        (b'{"a":1, "b":2}', False),
        (b'{"a":1 ,"b":2}', False), (b'{"a":[ 1]}', False), (b'{"a":[1 ]}', False), (b'{"a":[1, 2]}', False),
        (b'{"a":[1\r,2]}', False), (b'{"a":{ "b":1}}', False), (b'{"a":{"b":1} }', False),
    ],
)  # fmt: skip
def test_space_between_tokens_is_seen(row: bytes, is_compact: bool) -> None:
    for rows in ([row], [b'{"a":null}', row, b'{"a":null}'], [None, row]):
        made = native.infer_json(binary(rows))
        assert made is not None
        assert made.is_compact == is_compact


def test_head_and_tail_of_a_row_are_no_part_of_it() -> None:
    made = native.decode_json(binary([b'<{"a":1}>>', b'<{"a":2}>>']), None, head=1, tail=2)
    assert made is not None
    assert made.to_pylist() == [{"a": 1}, {"a": 2}]
    assert native.decode_json(binary([b"<"]), None, head=1, tail=2) is None


def test_doubles_are_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    texts = [f"{rng.uniform(-9e15, 9e15):.{rng.randrange(1, 20)}f}" for _ in range(300)]
    texts += [f"{rng.randrange(10 ** rng.randrange(1, 16))}.{rng.randrange(10**12)}" for _ in range(300)]
    texts += [f"{rng.random():.17g}E-{rng.randrange(300)}" for _ in range(300)]
    made = native.decode_json(binary([f'{{"a":{text}}}'.encode() for text in texts]), None)
    assert made is not None
    assert made.field(0).to_pylist() == [float(text) for text in texts]


@pytest.mark.thorough
@THOROUGH
@given(
    rows=st.lists(st.dictionaries(st.sampled_from(["a", "b", "é"]), json_values, max_size=3), min_size=1, max_size=4)
)
def test_generated_rows_give_the_columns_of_arrow(rows: list[Any]) -> None:
    data = binary([json.dumps(row, ensure_ascii=len(row) % 2 == 0).encode() for row in rows])
    ours = by_native(data, pytest.MonkeyPatch())
    if ours is None:
        return
    arrows = by_arrow(data, pytest.MonkeyPatch())
    if arrows is not None:
        assert sorted_fields(ours.type) == sorted_fields(arrows.type)
        assert ours.to_pylist() == arrows.to_pylist()
    else:  # Arrow 26 refuses some lists that begin with null; their rows are the measure then.
        assert sorted_fields(ours.type) == sorted_fields(Column.from_rows(rows, None).arrow().type)
        assert ours.to_pylist() == Column.from_rows(rows, None).arrow().to_pylist()


@pytest.mark.thorough
@THOROUGH
@given(row=st.dictionaries(st.sampled_from(["a", "b"]), json_values, min_size=1), data=st.data())
def test_a_broken_row_is_never_taken_for_a_good_one(row: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(row, ensure_ascii=False).encode()
    at = data.draw(st.integers(0, len(text)))
    inserted = data.draw(
        st.one_of(st.sampled_from([b"", b"0", b'"', b"}", b",", b" ", b"\n", b"\\"]), st.binary(max_size=3))
    )
    broken = text[:at] + inserted + text[at + data.draw(st.integers(0, 2)) :]
    made = native.decode_json(binary([broken]), None)
    if made is not None:
        ours, theirs = made.to_pylist()[0], json.loads(broken)
        assert ours.keys() == theirs.keys()
        assert without_nulls(ours) == without_nulls(theirs)


def without_nulls(value: Any) -> Any:
    """Arrow gives every struct of a list all fields that one of them has."""
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    return [without_nulls(v) for v in value] if isinstance(value, list) else value
