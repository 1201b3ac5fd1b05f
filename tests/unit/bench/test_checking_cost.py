"""A configuration is checked for what it reaches and holds in less than a millisecond."""

from __future__ import annotations

import pytest

from tests.bench.checking_cost import MOST_MS, costs

pytestmark = pytest.mark.thorough


def test_each_public_configuration_is_checked_within_a_millisecond() -> None:
    found = {one["name"]: one["ms"] for one in costs()}
    assert {"jdbc-source.json", "s3-sink.json", "bigquery-sink.json"} <= found.keys()
    assert {name: ms for name, ms in found.items() if not 0 < ms < MOST_MS} == {}
