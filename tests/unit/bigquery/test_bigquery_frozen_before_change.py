"""Checks that a process of a mode that merged, which stood still at any of its requests while the mode became view,
changes nothing that readers see when it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from bigquery_oracle import Message
from bigquery_sql import texts
from plain_bigquery import PlainBigQuery
from test_bigquery_compaction import Life, Prompt

from connect.api.errors import ConfigError, RetriableError
from connectors.bigquery.warehouse import jobs

WAYS: dict[str, dict[str, str]] = {
    "version": {"dedup.order.by": "version"},
    "soft": {"dedup.order.by": "version", "dedup.delete": "soft"},
}
BEFORE = [Message(1, 0, 1, 1, 3, "other")], [Message(0, 0, 1, 1, 1, "first"), Message(0, 1, 2, 1, 1, "second")]
ON_ITS_WAY = [Message(0, 2, 1, 2, 5, "held"), Message(0, 3, 2, 2, 5, None), Message(0, 4, 3, 2, 5, "third")]
BEHIND = [Message(0, 5, 1, 3, 5, None), Message(0, 6, 2, 3, 0, "again")]


class Change:
    """The change to dedup.mode=view, which comes while a process stands still behind its request number `at`.

    shown: what readers saw once it was done; None: it was not, or was refused, as a log had rows.
    """

    def __init__(self, service: PlainBigQuery, at: int, way: dict[str, str]) -> None:
        self._service, self._at, self._way = service, at, way
        self.shown: list[tuple[Any, ...]] | None = None

    @property
    def has_come(self) -> bool:
        return self._at < 0

    def look(self) -> None:
        self._at -= 1
        if self._at == -1:
            self._come()

    def seen(self) -> list[tuple[Any, ...]]:
        return texts(sorted(self._service.rows("orders_latest"), key=lambda row: (row["id"], str(row["text"]))))

    def _come(self) -> None:
        life = life_of(self._service, "view", self._way)
        life.writer.sweep()
        try:
            life.load(ON_ITS_WAY, BEHIND)
        except ConfigError:
            assert self._service.rows("_orders_log"), "refused for no reason"
            return
        self.shown = self.seen()


def life_of(service: PlainBigQuery, mode: str, way: Mapping[str, str], look: Callable[[], None] = lambda: None) -> Life:
    return Life(service, look, **{**way, "dedup.mode": mode})


def frozen_at(number: int, mode: str, way: dict[str, str]) -> bool:
    """Let a process stand still behind a request while the mode changes; False where it asks less often."""
    service = PlainBigQuery(Prompt(1))
    life_of(service, "compact", way).load(BEFORE[0])
    life_of(service, "auto" if mode == "auto" else "merge", way).load(*BEFORE)
    change = Change(service, number, way)
    late = life_of(service, mode, way, change.look)
    try:
        late.load(ON_ITS_WAY)
        late.writer.collect()
    except (RetriableError, ConfigError):
        if not change.has_come:
            raise
    if change.shown is not None:
        assert change.seen() == change.shown, f"it stood still behind request {number}"
    return change.has_come


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)


@pytest.mark.parametrize("number", [0, 10])
def test_who_stood_still_before_it_staged_rows_changes_nothing_that_a_view_shows(number):
    assert frozen_at(number, "merge", WAYS["version"])


@pytest.mark.thorough
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("way", "mode"),
    [
        ("version", "merge"),
        # They ask the same requests in other orders, which takes half a minute each.
        pytest.param("version", "compact", marks=pytest.mark.chaos),
        pytest.param("soft", "auto", marks=pytest.mark.chaos),
    ],
)
def test_who_stood_still_at_any_request_changes_nothing_that_a_view_shows(way, mode):
    number = 0
    while frozen_at(number, mode, WAYS[way]):
        number += 1
    assert number > 15
