"""Checks PythonFunction: what a user's function makes of rows and of batches, and what it may not."""

from __future__ import annotations

import pytest
from both_forms import NUMBERS, batch_of, build, numbers, same, values

from connect.api import schema as s
from connect.api.errors import ConfigError
from connect.api.records import Column


def test_a_function_per_row_adds_drops_and_fails_for_its_row_alone() -> None:
    name = {"function": "extra_functions:double", "fields": "twice:int64"}
    found = same("PythonFunction$Value", [*numbers(1, 0), None], NUMBERS.as_optional(), **name)
    assert values(found) == [{"n": 1, "t": "t1", "twice": 2}, None]
    assert found[0][5].field("twice") == s.INT64.as_optional()
    failed = same("PythonFunction$Value", numbers(1, 13, 2), NUMBERS, **name)
    assert failed == {1: "extra_functions:double raised ValueError: thirteen"}
    (made,) = build("PythonFunction$Value", function="extra_functions:double").apply(
        batch_of(Column.from_rows(numbers(4), None))
    )
    assert made.values.rows() == [{"n": 4, "t": "t4", "twice": 8}]


def test_what_a_function_changes_in_place_counts_and_what_it_leaves_keeps_its_column() -> None:
    inner = s.struct({"x": s.INT32})
    schema = s.struct({"n": s.INT64, "note": s.STRING.as_optional(), "tags": s.array(s.STRING), "in": inner})
    rows = [{"n": n, "note": None if n == 3 else "é", "tags": ["a"], "in": {"x": n}} for n in (1, 2, 3)]
    found = same("PythonFunction$Value", rows, schema, function="extra_functions:changes_in_place")
    assert values(found) == [
        {"n": 1, "note": "é", "tags": ["a", "new"], "in": {"x": 7}},
        {"n": 3, "note": None, "tags": ["a", "new"], "in": {"x": 7}},
    ]
    assert [row["tags"] for row in rows] == [["a"]] * 3


@pytest.mark.parametrize(
    ("function", "mode", "said"),
    [
        ("double", "row", "gave fields that the schema does not have: twice. Declare them in fields, as name:type."),
        ("wrong_type", "row", "Field 'n': extra_functions:wrong_type gave a str, which is no int64"),
        ("a_list", "row", "gave a list; it must give a dict, or None to drop the row."),
        ("one_row", "batch", "gave 1 rows for 2; it must give as many as it was given."),
        ("nonsense", "batch", "gave a int; it must give a pyarrow.RecordBatch"),
    ],
)
def test_a_function_that_gives_nonsense_is_told_so(function: str, mode: str, said: str) -> None:
    found = same("PythonFunction$Value", numbers(1, 2), NUMBERS, function=f"extra_functions:{function}", mode=mode)
    assert said in (found if isinstance(found, str) else found[0])


def test_a_function_per_batch_gives_columns_or_says_which_rows_stay() -> None:
    given_rows = [*numbers(5, -5), None, *numbers(50)]
    arguments = {"mode": "batch"}
    schema = NUMBERS.as_optional()
    found = same("PythonFunction$Value", given_rows, schema, function="extra_functions:shout", **arguments)
    assert [v and v["t"] for v in values(found)] == ["T5", "T-5", None, "T50"]
    found = same("PythonFunction$Value", given_rows, schema, function="extra_functions:add_column", **arguments)
    assert values(found)[3] == {"n": 50, "t": "t50", "big": 1}
    assert found[0][5].field("big") == s.INT8.as_optional()
    found = same("PythonFunction$Value", given_rows, schema, function="extra_functions:positive", **arguments)
    assert [o for _, _, _, o, _, _ in found] == [7, 9, 10]
    refused = same("PythonFunction$Value", given_rows, schema, function="extra_functions:no_fifty", **arguments)
    assert refused == {3: "fifty"}


@pytest.mark.parametrize("function", ["no_such_module:f", "extra_functions:nope"])
def test_a_function_that_is_not_there_is_a_wrong_configuration(function: str) -> None:
    with pytest.raises(ConfigError, match="PYTHONPATH"):
        build("PythonFunction$Value", function=function)
