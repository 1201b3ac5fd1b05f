"""Numbers with their nouns."""

from __future__ import annotations

import pytest

from connect.lib.printable import counted


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 rows"), (1, "1 row"), (1.0, "1 row"), (2, "2 rows"), (10_000.0, "10,000 rows")]
)
def test_one_is_told_from_many(count: float, said: str):
    assert counted(count, "row") == said
