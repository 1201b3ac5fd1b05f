"""Checks that tombstones without the field of dedup.order.by delete what came before them, also when all is read
again.
"""

from __future__ import annotations

import pytest
from bigquery_oracle import Message
from bigquery_run import Life

LOG = [
    Message(0, 0, 1, 9, version=5, text="large"), Message(0, 1, 2, 9, version=7, text="stays away"),
    Message(0, 2, 1, 8, text=None), Message(0, 3, 2, 8, text=None), Message(0, 4, 1, 1, version=3, text="small"),
]  # fmt: skip


@pytest.mark.parametrize("way", [{}, {"dedup.delete": "soft"}, {"dedup.mode": "view"}], ids=str)
def test_what_comes_after_a_tombstone_starts_anew(dataset, way):
    settings = {**dataset.settings(dedup__order__by="version", timePartitioningType="NONE"), **way}
    with Life(settings) as first:
        first.put(LOG[:2])
        first.settle()
        first.put(LOG[2:])
        first.settle()
    with Life(settings) as second:
        second.put(LOG[:3])
        second.settle()
        second.put(LOG[3:])
        second.settle()
        assert second.bad == {}
    shown = dataset.rows("orders_latest" if "dedup.mode" in way else "orders")
    assert [(row["id"], row["text"]) for row in shown if not row.get("_deleted")] == [(1, "small")]
