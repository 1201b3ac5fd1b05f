"""Checks that a quota of the brokers on a job's client id slows its lanes, and can be lifted while they run."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from backfill_job import Table
from e2e_worker import wait_for
from kafka_quotas import alter_quota

from connect.backfill.job.states import JobState
from connect.lib.deadline import Deadline

ROWS = 20_000
CHUNKS = 40
QUOTA = "producer_byte_rate"
QUOTA_BYTES_PER_S = 50_000
"""Of the 20 MB of the table a broker lets 11 s pass at once, its window; all would take six minutes."""


def alter(table: Table, change: str, setting: str) -> None:
    """Change the quota of the client id of all lanes of the table's job."""
    alter_quota(table.kafka.bootstrap_servers, "clients", f"backfill-{table.name}", change, setting)


@pytest.mark.chaos
def test_a_job_keeps_to_the_brokers_quota_until_that_is_lifted(table: Table):
    table.run(
        "CREATE TABLE {t} (id BIGSERIAL PRIMARY KEY, name TEXT)",
        f"INSERT INTO {{t}} (name) SELECT repeat(md5(s::text), 30) FROM generate_series(1, {ROWS}) s",
    )
    alter(table, "--add-config", f"{QUOTA}={QUOTA_BYTES_PER_S}")
    chunking = {"rows": ROWS // CHUNKS, "lanes": 2}
    with table.driver(chunking=chunking) as slowed, table.driver(name=f"{table.name}-free", chunking=chunking) as free:
        slowed.begin()
        running = threading.Thread(target=slowed.run, daemon=True)
        running.start()
        wait_for(lambda: slowed.store.all_markers(Deadline.after(60)), 60, "a chunk of the job with a quota")
        assert free.run().state is JobState.COPIED
        assert running.is_alive()
        assert len(slowed.store.all_markers(Deadline.after(60))) < CHUNKS / 2
        alter(table, "--delete-config", QUOTA)
        running.join(120)
        assert slowed.ownership.require_known().state is JobState.COPIED
    jobs = Counter(dict(message.headers() or ())["bf.job"].decode() for message in table.records())
    assert jobs == {table.name: ROWS, f"{table.name}-free": ROWS}
    assert set(Counter(table.ids()).values()) == {2}
