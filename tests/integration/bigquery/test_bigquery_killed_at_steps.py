"""kill -9 of a worker, or of BigQuery, while a request of each step of a merge or compaction is sent or answered."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from bigquery_oracle import latest
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import WorkerProcess, wait_for
from test_bigquery_crashes import MERGE
from test_bigquery_killed import PARTITIONS, committed, config_of, duplicates, produce

pytestmark = pytest.mark.chaos
UPLOAD, REMEMBER, DROP = (
    r"^POST /upload/",
    r"^POST [^ ]*/jobs[ ?].*MERGE INTO [^ ]+_deletes` AS T",
    r"^DELETE [^ ]*_tmp_",
)
LISTING = r"^POST [^ ]*/jobs[ ?].*SELECT `_dedup_batch` AS batch"
FORGET = r"^POST [^ ]*/jobs[ ?].*DELETE FROM [^ ]+_log`"
STEPS = {
    "load on its way": (UPLOAD, False), "load done": (UPLOAD, True), "deletes on their way": (REMEMBER, False),
    "deletes remembered": (REMEMBER, True), "merge on its way": (MERGE, False), "merge done": (MERGE, True),
    "merged, and no offset committed": (DROP, False), "staging table dropped": (DROP, True),
}  # fmt: skip
STEPS_OF_COMPACTION = {
    "load on its way": (UPLOAD, False), "load done": (UPLOAD, True), "listing on its way": (LISTING, False),
    "listed": (LISTING, True), "deletes on their way": (REMEMBER, False), "deletes remembered": (REMEMBER, True),
    "merge on its way": (MERGE, False), "merge done": (MERGE, True), "forgetting on its way": (FORGET, False),
    "forgotten": (FORGET, True),
}  # fmt: skip


@pytest.fixture
def worker(kafka, tmp_path, unique) -> Iterator[WorkerProcess]:
    process = WorkerProcess(tmp_path, kafka.bootstrap_servers, unique)
    process.start()
    yield process
    process.stop()


def forget_jobs_without_end(dataset) -> None:
    """To the emulator, jobs that ran when it was killed run for ever. BigQuery's end."""
    for state in ("pending", "running"):
        for job in dataset.client.list_jobs(state_filter=state):
            dataset.client.delete_job_metadata(job.job_id, location=job.location)


@pytest.mark.parametrize("mode", ["merge", "compact"])
@pytest.mark.parametrize("whose", ["worker", "bigquery"])
def test_no_row_is_missing_or_twice_wherever_a_process_is_killed(
    worker, kafka, dataset, proxy, emulator, unique, whose, mode
):
    steps = STEPS_OF_COMPACTION if mode == "compact" else STEPS
    topic = f"{unique}-orders"
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(topic, PARTITIONS, config={"retention.ms": "-1"})])[topic].result(30)
    messages = duplicates(seed=13, count=300 * len(steps))
    few = {
        "dedup.mode": mode, "dedup.compact.interval.ms": "0", "dedup.merge.interval.ms": "500",
        "consumer.override.session.timeout.ms": "6000",
    }  # fmt: skip
    config = config_of(kafka, dataset, topic, **few) | {"bigquery.endpoint": proxy.url}
    assert worker.create(topic, config).status_code == 201

    def wait_for_commits(count: int, step: str) -> None:
        wait_for(lambda: committed(kafka, topic, topic) == count, 90, f"commits after: {step}", by=worker)

    for number, (step, (where, is_done)) in enumerate(steps.items()):
        goes_on = threading.Event()
        fault = proxy.add(where, held=goes_on, lost=is_done)
        produce(kafka, topic, messages[number * 300 : (number + 1) * 300])
        wait_for(lambda fault=fault: not fault.times, 120, step, by=worker)
        killed = worker if whose == "worker" else emulator
        killed.kill()
        goes_on.set()
        killed.start()
        if killed is emulator:
            forget_jobs_without_end(dataset)
        wait_for_commits((number + 1) * 300, step)
    rows = dataset.rows(f"{topic}_latest" if mode == "compact" else topic)
    assert len({row["id"] for row in rows}) == len(rows)
    assert [(row["id"], row["text"]) for row in rows] == [(k, m.text) for k, m in sorted(latest(messages).items())]
    assert not [name for name in dataset.tables() if "_tmp_" in name]
