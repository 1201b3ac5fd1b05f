"""Checks which restore a command `connect cassandra restore` goes on with."""

from __future__ import annotations

import pytest

from connect.cli.cassandra import job_name, note_on_deletes

ASKED = {"keyspace": "shop", "topic.prefix": "cassandra.", "tables": "orders", "contact.points": "n1", "password": "a"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tables", "orders,customers"), ("topic.prefix", "restored."), ("output", "events"), ("transforms", "mask"),
        ("written.since", "2026-11-01 00:00:00Z"), ("keyspace", "stock"), ("table.topics", "orders:all"),
    ],
)  # fmt: skip
def test_a_restore_of_other_rows_or_into_other_topics_is_one_of_its_own(key: str, value: str) -> None:
    assert job_name(ASKED | {key: value}) != job_name(ASKED)


@pytest.mark.parametrize("key", ["contact.points", "password", "fetch.size", "concurrent.reads", "table.splits"])
def test_a_restore_goes_on_by_another_node_and_at_another_pace(key: str) -> None:
    assert job_name(ASKED | {key: "7"}) == job_name(ASKED)
    assert job_name(ASKED).startswith("restore-shop-")


def test_tombstones_between_rows_with_write_times_are_told_to_need_a_setting_of_the_sink() -> None:
    assert note_on_deletes(ASKED) is None
    assert "delete.times=record" in (note_on_deletes({**ASKED, "write.times": "true"}) or "")
