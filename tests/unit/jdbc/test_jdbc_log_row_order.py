"""Checks what a first read of PostgreSQL remembers of the order in which it reads rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from connectors.jdbc.dialects.postgres.result_types import BOOL, XML
from connectors.jdbc.log.postgres.segments import order_of
from connectors.jdbc.log.postgres.tables import LogTable
from connectors.jdbc.log.shared.snapshot_segments import Fence, Segment

INT4 = 23


def table(*bases: int, key: tuple[str, ...] = ()) -> LogTable:
    columns = [SimpleNamespace(name=f"c{number}") for number, _ in enumerate(bases)]
    found: Any = SimpleNamespace(relation=SimpleNamespace(columns=columns), bases=bases)
    found.events = SimpleNamespace(key=key)
    return cast("LogTable", found)


def test_rows_are_in_the_order_of_the_key_or_of_all_columns():
    assert order_of(table(INT4, BOOL, key=("c0",))) == ("c0",)
    assert order_of(table(INT4, INT4)) == ("c0", "c1")


@pytest.mark.parametrize("kind", [BOOL, XML])
def test_a_read_that_an_earlier_release_began_by_other_texts_begins_again(kind):
    begun: Fence[int] = Fence(("c0", "c1"), (Segment(1),))
    order = order_of(table(INT4, kind))
    assert begun.goes_on(order, ("a digest of that release",), 2) == begun.begun_again(order)
    assert begun.begun_again(order).goes_on(order, ("a digest of this one",), 3).bounds
