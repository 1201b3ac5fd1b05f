"""Measures many connectors on three workers: how soon they run, how REST answers meanwhile, and what a worker's death
costs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer

from tests.bench.cluster.cluster_figures import (
    IDLE_WINDOW_S,
    Figures,
    Latencies,
    cpu_use,
    memory,
    percentile,
    settled,
    source,
)
from tests.bench.cluster.cluster_workers import TEXT, Worker, Workers, wait_for
from tests.bench.throughput import JAVA

WORKERS, TASKS = 3, 2
CONNECTORS = 1000
RUNNING_LIMIT_S = 600.0
"""Java takes half a second for each connector."""
LOOK_S = 1.0
"""A question for all statuses is large, and no part of the load."""
MUST = {"all tasks RUNNING, s": 40.0, "GET meanwhile, p99 ms": 100.0, "all workers, USS MiB": 600.0,
        "kill -9 of a worker, all tasks RUNNING, s": 10.0}  # fmt: skip


@dataclass(frozen=True)
class Load:
    """Describes what is created: so many connectors with these settings, each of so many tasks."""

    connectors: int
    tasks: int
    config: Mapping[str, str]

    @property
    def all_tasks(self) -> int:
        """Return how many tasks all connectors have."""
        return self.connectors * self.tasks


def made_rows(connectors: int, topic: str) -> Load:
    """Return sources of two tasks that make a row each, and are idle then."""
    config = {
        "connector.class": "io.confluent.kafka.connect.datagen.DatagenConnector", "tasks.max": str(TASKS),
        "kafka.topic": topic, "quickstart": "users", "iterations": "1", "max.interval": "100",
        "key.converter": TEXT, "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }  # fmt: skip
    return Load(connectors, TASKS, config)


def file_lines(connectors: int, topic: str, folder: Path) -> Load:
    """Return sources of one task that read a line each, and are idle then: both kinds of worker have them."""
    file = folder / f"{topic}.txt"
    file.write_text("a line\n")
    return Load(connectors, 1, source(file, topic))


def many_entries(bootstrap_servers: str, load: Load, say: Callable[[str], None]) -> list[dict]:
    """Return one entry per figure of ours, with what it must not exceed."""
    return [
        {"name": name, "ours": value, "must": MUST.get(name), "peer": None, "ratio": None}
        for name, value in measure_many("ours", bootstrap_servers, load, say).items()
    ]


def beside_entries(bootstrap_servers: str, load: Load, say: Callable[[str], None]) -> list[dict]:
    """Return one entry per figure of ours, with Java's of the same load."""
    ours, java = (measure_many(kind, bootstrap_servers, load, say) for kind in ("ours", "java"))
    return [
        {
            "name": name, "ours": value, "must": None, "peer": {"name": JAVA, "value": java[name]},
            "ratio": java[name] / value if value else None,
        }
        for name, value in ours.items()
    ]  # fmt: skip


def measure_many(kind: str, bootstrap_servers: str, load: Load, say: Callable[[str], None]) -> Figures:
    """Return the figures of three workers of one kind, `ours` or `java`."""
    figures: Figures = {}
    with Workers(kind, bootstrap_servers, WORKERS) as workers:
        for worker in workers.all:
            worker.start()
        settled(*workers.all)
        figures |= _created(workers, load)
        say(f"{load.connectors} connectors run on workers of {kind}: {figures}")
        settled(*workers.all)
        began_s = workers.all[0].cpu_s()
        figures["idle CPU of all workers, % of a core"] = cpu_use(IDLE_WINDOW_S, *workers.all) * 100
        figures["idle CPU of the first worker, % of a core"] = (workers.all[0].cpu_s() - began_s) / IDLE_WINDOW_S * 100
        figures |= memory("all workers", *workers.all)
        figures["config topic, KiB"] = _bytes_in(bootstrap_servers, workers.topics.configs) / 1024
        figures["status topic, KiB"] = _bytes_in(bootstrap_servers, workers.topics.status) / 1024
        figures |= _lost(workers, load)
    return figures


def _created(workers: Workers, load: Load) -> Figures:
    cpu_s, began_s = sum(worker.cpu_s() for worker in workers.all), time.monotonic()
    posts = []
    with Latencies(workers) as latencies:
        for number in range(load.connectors):
            asked_s = time.monotonic()
            body = {"name": f"many-{number}", "config": load.config}
            workers.all[number % WORKERS].call("POST", "/connectors", body)
            posts.append(time.monotonic() - asked_s)
        created_s = time.monotonic() - began_s
        _await_tasks(workers.all[0], load.all_tasks, "after they were created")
        running_s = time.monotonic() - began_s
    return {
        "created, s": created_s,
        "all tasks RUNNING, s": running_s,
        "CPU until then, s": sum(worker.cpu_s() for worker in workers.all) - cpu_s,
        "GET meanwhile, p50 ms": percentile(latencies.seen_s, 50) * 1000,
        "GET meanwhile, p99 ms": percentile(latencies.seen_s, 99) * 1000,
        "POST, p99 ms": percentile(posts, 99) * 1000,
    }


def _lost(workers: Workers, load: Load) -> Figures:
    """Kill the last worker; its tasks have to run on the others."""
    *others, last = workers.all
    moved = sum(place == last.id for place in _running(others[0]))
    killed_s = last.kill()
    with Latencies(workers, others) as latencies:
        _await_tasks(others[0], load.all_tasks, "after a worker was killed", but=last.id)
        running_s = time.monotonic() - killed_s
    last.clean_up()
    return {
        "tasks of the killed worker": moved,
        "kill -9 of a worker, all tasks RUNNING, s": running_s,
        "GET after it, p99 ms": percentile(latencies.seen_s, 99) * 1000,
    }


def _await_tasks(worker: Worker, tasks: int, when: str, but: str = "") -> None:
    def left() -> int:
        return tasks - sum(place != but for place in _running(worker))

    try:
        wait_for(lambda: left() == 0, f"{tasks} tasks RUNNING {when}", RUNNING_LIMIT_S, LOOK_S)
    except TimeoutError as error:
        raise TimeoutError(f"{error}; {left()} of them do not run") from error


def _running(worker: Worker) -> list[str]:
    """Return the worker of each task that runs."""
    found = worker.call("GET", "/connectors?expand=status").values()
    tasks = (task for connector in found for task in connector["status"]["tasks"])
    return [task["worker_id"] for task in tasks if task["state"] == "RUNNING"]


def _bytes_in(bootstrap_servers: str, topic: str) -> int:
    """Return the bytes of all keys and values of a topic."""
    consumer = Consumer({
        "bootstrap.servers": bootstrap_servers, "group.id": f"size-of-{topic}", "auto.offset.reset": "earliest",
        "enable.auto.commit": False, "enable.partition.eof": True,
    })  # fmt: skip
    partitions = len(consumer.list_topics(topic, timeout=30).topics[topic].partitions)
    consumer.subscribe([topic])
    size_bytes, ended = 0, set()
    try:
        while len(ended) < partitions:
            for message in consumer.consume(1000, 1.0):
                if message.error() is None:
                    size_bytes += len(message.key() or b"") + len(message.value() or b"")
                else:
                    ended.add(message.partition())
    finally:
        consumer.close()
    return size_bytes
