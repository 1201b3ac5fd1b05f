"""A worker that is frozen with all its processes while another takes its task over, and then goes on: a zombie.

Its MERGE is on the way when it freezes, and reaches BigQuery beside the first one of the new owner.
"""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress

import psutil
import pytest
from bigquery_oracle import Message, latest
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import WorkerProcess, wait_for
from test_bigquery_crashes import MERGE
from test_bigquery_killed import PARTITIONS, committed, config_of, duplicates, produce

QUICK = {"consumer.override.session.timeout.ms": "6000", "consumer.override.max.poll.records": "100"}


def send(what: signal.Signals, processes: list[psutil.Process]) -> None:
    """One that others of them ended meanwhile is left out."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(what)


@pytest.fixture
def workers(kafka, tmp_path, unique) -> Iterator[Mapping[str, WorkerProcess]]:
    """Two workers of one cluster, by the names that a task's status gives."""
    made = [WorkerProcess(tmp_path / name, kafka.bootstrap_servers, unique) for name in ("one", "two")]
    try:
        for worker in made:
            worker.start()
        yield {worker.url.removeprefix("http://"): worker for worker in made}
    finally:
        for worker in made:
            worker.kill()


class Run:
    """A connector of one task over a topic whose second half is produced while its worker is frozen."""

    def __init__(self, kafka, workers: Mapping[str, WorkerProcess], topic: str, messages: list[Message]) -> None:
        self.kafka, self.workers, self.topic, self.messages = kafka, workers, topic, messages
        self.half = len(messages) // 2
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        admin.create_topics([NewTopic(topic, PARTITIONS, config={"retention.ms": "-1"})])[topic].result(30)
        produce(kafka, topic, messages[: self.half])

    @property
    def owner(self) -> str:
        """The worker that has the task."""
        tasks = next(iter(self.workers.values())).wait_for_tasks(self.topic, "RUNNING")["tasks"]
        return str(tasks[0]["worker_id"])

    def start(self, config: Mapping[str, str]) -> None:
        answer = next(iter(self.workers.values())).create(self.topic, {**config, "tasks.max": "1"})
        assert answer.status_code == 201, answer.text

    def freeze(self) -> list[psutil.Process]:
        """Stop the owner and all processes below it."""
        process = psutil.Process(self.workers[self.owner].pid)
        tree = [process, *process.children(recursive=True)]
        send(signal.SIGSTOP, tree)
        produce(self.kafka, self.topic, self.messages[self.half :])
        return tree

    def wait_for_commits(self, least: int) -> None:
        def what() -> str:
            return f"{least} commits; {[worker.log_tail() for worker in self.workers.values()]}"

        wait_for(lambda: committed(self.kafka, self.topic, self.topic) >= least, 120, what)

    def go_on(self, tree: list[psutil.Process]) -> None:
        """Let the zombie go on until it knows what it is."""
        send(signal.SIGCONT, tree)
        for worker in self.workers.values():
            wait_for(worker.healthy, 60, "a healthy worker", by=worker)
        self.wait_for_commits(len(self.messages))


@pytest.mark.chaos
@pytest.mark.parametrize("keep", ["first", "latest"])
def test_a_zombie_whose_merge_meets_that_of_the_new_owner_adds_nothing_twice(
    kafka, workers, dataset, proxy, unique, keep
):
    messages = [m for m in duplicates(seed=11, count=2400) if keep == "latest" or m.text is not None]
    run = Run(kafka, workers, f"{unique}-orders", messages)
    dedup = {"dedup.keep": keep, "dedup.merge.max.records": "300", "dedup.merge.interval.ms": "1000"}
    config = config_of(kafka, dataset, run.topic, **QUICK, **dedup) | {"bigquery.endpoint": proxy.url}
    if keep == "first":
        del config["dedup.delete"]
    met = proxy.add(MERGE, times=2, meets=threading.Barrier(2))
    run.start(config)
    wait_for(lambda: met.times == 1, 60, "the first merge on its way")
    tree = run.freeze()
    wait_for(lambda: met.times == 0, 90, "the merge of the new owner")
    assert len({name.rpartition("-")[0] for name in met.job_ids}) == 1, (
        "two lines, which BigQuery would run side by side"
    )
    run.wait_for_commits(run.half)
    run.go_on(tree)
    rows = dataset.rows(run.topic)
    assert len({row["id"] for row in rows}) == len(rows)
    if keep == "first":
        assert {row["id"] for row in rows} == {message.id for message in messages}
    else:
        assert [(row["id"], row["text"]) for row in rows] == [(k, m.text) for k, m in sorted(latest(messages).items())]


@pytest.mark.chaos
def test_a_zombie_with_exactly_once_adds_nothing_behind_the_new_owner(kafka, workers, dataset, unique):
    messages = [m for m in duplicates(seed=12, count=4000) if m.text is not None]
    run = Run(kafka, workers, f"{unique}-orders", messages)
    once = {"exactly.once": "true", "timePartitioningType": "NONE"}
    config = config_of(kafka, dataset, run.topic, **QUICK, **once)
    run.start({key: value for key, value in config.items() if not key.startswith("dedup.")})
    run.wait_for_commits(100)
    tree = run.freeze()
    run.wait_for_commits(run.half + 100)
    run.go_on(tree)
    rows = dataset.query(f"SELECT _kafka_partition AS p, _kafka_offset AS o FROM `{dataset.name}`.`{run.topic}`")
    ends = Counter(message.partition for message in messages)
    assert sorted((row["p"], row["o"]) for row in rows) == [(p, o) for p in sorted(ends) for o in range(ends[p])]
