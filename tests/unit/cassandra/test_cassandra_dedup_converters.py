"""Converters of the deduplicating connector that are not the agents' are told at once, by both keys."""

from __future__ import annotations

from typing import Any

import pytest
from test_cassandra_dedup import Life, event, texts

from connect.api.errors import ConfigError


def enveloped(value: Any) -> dict[str, Any]:
    return {"schema": {"type": "struct"}, "payload": value}


@pytest.mark.parametrize(
    ("side", "change", "told"),
    [
        ("value", lambda key, value: (key, enveloped(value)), "schemas.enable=true wrote it"),
        ("key", lambda key, value: (enveloped(key), value), "schemas.enable=true wrote it"),
        ("value", lambda key, value: (key, str(value)), "of type str and no struct"),
        ("value", lambda key, value: (key, b"\0\1"), "of type bytes and no struct"),
        ("key", lambda key, value: (str(key), value), "of type str and no struct"),
        ("key", lambda key, value: (b"\0\1", value), "of type bytes and no struct"),
    ],
)
def test_records_of_other_converters_end_the_task_and_name_the_key_on_both_sides(
    side: str, change: Any, told: str
) -> None:
    life = Life([change(*event(str(number))) for number in range(3)])
    with pytest.raises(ConfigError, match=told) as caught:
        life.run()
    assert [problem.key for problem in caught.value.problems] == [f"{side}.converter"]
    assert "connect agent cassandra" in str(caught.value)
    assert not life.context.rejected, "none is a bad row"


def test_one_foreign_record_among_events_is_a_bad_row_as_ever() -> None:
    life = Life([({"k": 1}, "text"), event("a")])
    life.run()
    assert texts(life) == ["a"]
    assert len(life.context.rejected) == 1
