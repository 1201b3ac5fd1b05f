"""Prints what BigQuery bills for the statements of each way to merge, beside the plain model of its rules.

The emulator bills nothing, so there the test shows that each statement's job is found and counted. `make test-bigquery`
runs it on Google's service, where no statement may be billed for more than the model says.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from bigquery_oracle import Message
from bigquery_run import Life
from e2e_worker import wait_for

from connectors.bigquery.cost.billing import LEAST_BYTES, Searched, merge_bytes

ROWS, ROW_BYTES = 2_000, 200
"""The messages have fewer bytes than that."""


@pytest.mark.parametrize("mode", ["merge", "compact"])
def test_no_statement_is_billed_for_more_than_the_model_says(dataset, mode, capsys):
    since = datetime.now(UTC) - timedelta(seconds=5)
    messages = [Message(0, offset, offset // 2, offset % 90) for offset in range(ROWS)]
    with Life(
        dataset.settings(dedup__mode=mode, dedup__compact__interval__ms="0", timePartitioningType="NONE")
    ) as life:
        for start in (0, ROWS // 2):
            life.put(messages[start : start + ROWS // 2])
            life.settle()

        def is_merged() -> bool:
            life.flush()
            return life.context.gauges.get("compactions_total" if mode == "compact" else "merges_total", 0) > 0

        wait_for(is_merged, 60, "a merge")
    target = Searched(ROWS, ROWS * ROW_BYTES, ROW_BYTES)
    # The tables beside it, as that of remembered deletes, are small: each is billed for the least.
    model = merge_bytes(target, ROWS * ROW_BYTES, changes_rows=True) + 2 * LEAST_BYTES
    jobs = [job for job in dataset.client.list_jobs(min_creation_time=since) if is_of(job, dataset.name)]
    with capsys.disabled():
        for job in jobs:
            head = " ".join(job.query.split()[:3])
            print(f"\n{mode}: {head}: billed {job.total_bytes_billed or 0:,}, by the model at most {model:,}", end="")  # noqa: T201 - the person who runs it compares the figures
    heads = {job.query.split()[0] for job in jobs}
    # The statement that makes the view is one of the line that merges are in.
    assert heads == ({"MERGE"} if mode == "merge" else {"CREATE", "MERGE", "SELECT", "DELETE"})
    assert all((job.total_bytes_billed or 0) <= model for job in jobs)


def is_of(job, dataset: str) -> bool:
    """Tell if a job is a statement of the sink's, in this dataset."""
    return job.job_type == "query" and "kafka-connect-statement" in job.labels and f"`{dataset}`" in job.query
