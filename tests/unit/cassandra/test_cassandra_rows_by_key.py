"""Rows that may be gone are asked for at a quorum, whatever the level at which the tables are read."""

from __future__ import annotations

import pytest

from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.rows_by_key import asking


@pytest.mark.parametrize(
    ("read_at", "asked_at"),
    [
        (None, "LOCAL_QUORUM"), ("local_one", "LOCAL_QUORUM"), ("ONE", "QUORUM"), ("TWO", "QUORUM"), ("ALL", "ALL"),
        ("EACH_QUORUM", "EACH_QUORUM"), ("THREE", "THREE"),
    ],
)  # fmt: skip
def test_a_row_that_one_replica_lacks_is_not_taken_for_gone(read_at: str | None, asked_at: str) -> None:
    given = {} if read_at is None else {"consistency.level": read_at}
    config = CassandraSourceConfig.parse({"contact.points": "a", "keyspace": "k", **given})
    assert asking(config).consistency_level == asked_at
