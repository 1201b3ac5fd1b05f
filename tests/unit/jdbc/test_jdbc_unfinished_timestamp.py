"""Rows that share a timestamp are not passed over where the time up to which rows are read goes back between passes."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from connectors.jdbc.follow import offsets
from connectors.jdbc.follow.modes import Ordering, Timestamp, Timestamps

FINISHED_US, TIE_US = 1_000_000, 2_000_000
STORED = offsets.timestamp_with_tie(FINISHED_US, TIE_US, [7])


def _mode() -> Timestamp:
    key = Ordering((sa.column("id"),), (0,))
    return Timestamp(sa.column("ts"), key, Timestamps("t", ["ts"], [1], ZoneInfo("UTC")), STORED, 0)


@pytest.mark.parametrize("until_us", [FINISHED_US, TIE_US - 1, TIE_US])
def test_a_pass_that_ended_before_a_timestamp_does_not_finish_it(until_us: int) -> None:
    mode = _mode()
    assert mode.finished(until_us) is None
    assert mode.finished(TIE_US + 1) == offsets.timestamp(TIE_US), "a later pass does, which found no further row"


@pytest.mark.parametrize("until_us", [None, TIE_US + 1])
def test_a_pass_behind_a_timestamp_finishes_it(until_us: int | None) -> None:
    assert _mode().finished(until_us) == offsets.timestamp(TIE_US)
