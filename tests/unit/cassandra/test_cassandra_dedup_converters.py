"""Converters of the deduplicating connector that are not the agents' are told at once, by both keys.

Values that are no events are given up with the cause, and the framework's `errors.tolerance` decides about them.
"""

from __future__ import annotations

from typing import Any

import pytest
from test_cassandra_dedup import Life, event, texts

from connect.api.errors import ConfigError


def enveloped(value: Any) -> dict[str, Any]:
    return {"schema": {"type": "struct"}, "payload": value}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (enveloped, "schemas.enable=true wrote it"),
        (str, "of type str and no struct"),
        (lambda key: b"\0\1", "of type bytes and no struct"),
    ],
)
def test_events_whose_keys_are_of_another_converter_end_the_task(change: Any, told: str) -> None:
    life = Life([(change(key), value) for key, value in (event(str(number)) for number in range(3))])
    with pytest.raises(ConfigError, match=told) as caught:
        life.run()
    assert [problem.key for problem in caught.value.problems] == ["key.converter"]
    assert "connect agent cassandra" in str(caught.value)
    assert not life.context.rejected, "none is a bad row"
    assert life.written == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (enveloped, "schemas.enable=true wrote it"),
        (str, "of type str and no struct"),
        (lambda value: b"\0\1", "of type bytes and no struct"),
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_values_of_another_converter_are_bad_rows_that_name_the_key(
    change: Any, told: str, count: int, caplog: pytest.LogCaptureFixture
) -> None:
    foreign = [(key, change(value)) for key, value in (event(str(number)) for number in range(count))]
    life = Life([*foreign, *[({"k": 1}, None)] * (7 - count), event("a")])
    life.run()
    errors = [error for _, error in life.context.rejected]
    assert len(errors) == count
    for error in errors:
        assert isinstance(error, ConfigError)
        assert error.key == "value.converter"
        assert told in str(error)
        assert "connect agent cassandra" in str(error)
    assert told in caplog.text
    assert texts(life) == ["a"], "what comes behind them goes on"


def test_one_foreign_record_among_events_is_a_bad_row_as_ever() -> None:
    life = Life([({"k": 1}, "text"), event("a")])
    life.run()
    assert texts(life) == ["a"]
    assert len(life.context.rejected) == 1
