"""Runs three connectors beside attacks and kills. Rows are fed to them all the time, and each row must arrive once."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from e2e_worker import JSON, WorkerProcess, wait_for

PLAIN = {"value.converter": JSON, "value.converter.schemas.enable": "false"}
ONCE = {"exactly.once.support": "required"}
TEXT = "org.apache.kafka.connect.storage.StringConverter"
NAMES = ("victim-jdbc", "victim-file", "victim-s3")
ROWS_PER_FEED, FEED_S, ARRIVE_S = 20, 0.1, 120.0
ROWS_PER_OBJECT = 5 * ROWS_PER_FEED
"""An object takes the rows of several feeds, so that rows are in the sink's memory when it is killed."""


class Victims:
    """Holds the connectors, what they read, and how many rows each was given so far."""

    def __init__(self, worker: WorkerProcess, bootstrap_servers: str, folder: Path, name: str) -> None:
        self.worker = worker
        self.bootstrap_servers = bootstrap_servers
        self.s3_topic = f"{name}-s3-in"
        self.folder = folder
        self.fed = 0
        self._topics = {"victim-jdbc": f"{name}-jdbc-rows", "victim-file": f"{name}-lines"}
        self._database, self._lines, self._bucket = folder / "victim.db", folder / "victim.txt", folder / "bucket"
        self._bucket.mkdir()
        self._lines.touch()
        with closing(sqlite3.connect(self._database)) as database:
            database.execute("create table rows (n integer primary key)")
        self._producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 0})
        self._name = name

    def create(self) -> None:
        """Create the connectors and wait until they run."""
        self._feed()
        source = {"connector.class": "JdbcSourceConnector", "connection.url": f"jdbc:sqlite:{self._database}",
                  "mode": "incrementing", "incrementing.column.name": "n", "table.whitelist": "rows",
                  "topic.prefix": f"{self._name}-jdbc-", "poll.interval.ms": "100", **ONCE, **PLAIN}  # fmt: skip
        lines = {"connector.class": "FileStreamSource", "file": str(self._lines),
                 "topic": self._topics["victim-file"], "value.converter": TEXT, **ONCE}  # fmt: skip
        sink = {"connector.class": "S3SinkConnector", "storage.class": "connect.s3.LocalStorage",
                "s3.bucket.name": str(self._bucket), "topics": self.s3_topic,
                "flush.size": str(ROWS_PER_OBJECT),
                "format.class": "io.confluent.connect.s3.format.json.JsonFormat", "errors.tolerance": "all",
                "partitioner.class": "io.confluent.connect.storage.partitioner.FieldPartitioner",
                "partition.field.name": "p", **PLAIN}  # fmt: skip
        for name, config in zip(NAMES, (source, lines, sink), strict=True):
            made = self.worker.create(name, config)
            assert made.status_code == 201, made.text
        self.wait_until_they_run()

    def kill_their_tasks(self, beside: WorkerProcess) -> None:
        """Kill the other worker of the cluster and this one's task hosts, so that no task of a victim survives."""
        ran_on = {task["worker_id"] for name in NAMES for task in self.worker.status(name)["tasks"]}
        assert len(ran_on) == 2, f"the victims run on {ran_on} alone"
        beside.kill()
        hosts = [host for server in psutil.Process(self.worker.pid).children() for host in server.children()]
        assert hosts, "no task host runs"
        for host in hosts:
            host.kill()
        psutil.wait_procs(hosts, 60)

    def wait_until_they_go_on(self) -> None:
        """Wait until rows that are fed from now on have arrived, and all tasks run."""
        already = self.fed
        for name, found in self._arrivals():
            wait_for(
                lambda name=name, found=found: max(found(name), default=-1) >= already, ARRIVE_S, f"new rows of {name}"
            )
        self.wait_until_they_run()

    @contextmanager
    def fed_meanwhile(self) -> Iterator[None]:
        """Feed rows to all connectors until the end of the block."""
        over = threading.Event()

        def feed() -> None:
            while not over.wait(FEED_S):
                self._feed()

        feeding = threading.Thread(target=feed)
        feeding.start()
        try:
            yield
        finally:
            over.set()
            feeding.join()
            while self.fed % ROWS_PER_OBJECT:
                self._feed()

    def send(self, value: bytes | None, key: bytes | None = None) -> None:
        """Send a record of somebody else to the sink's topic."""
        self._producer.produce(self.s3_topic, value, key)
        self._producer.flush(30)

    def require_each_row_once(self) -> None:
        """Fail unless each row that was fed has arrived once, and the connectors run."""
        for name, found in self._arrivals():
            wait_for(lambda name=name, found=found: len(set(found(name))) >= self.fed, ARRIVE_S, f"rows of {name}")
            assert sorted(found(name)) == list(range(self.fed)), f"rows of {name} came twice, or others with them"
            states = [task["state"] for task in self.worker.status(name)["tasks"]]
            assert states == ["RUNNING"], f"{name}: {states}"

    def wait_until_they_run(self) -> None:
        """Wait until all tasks of the victims run."""
        for name in NAMES:
            self.worker.wait_for_tasks(name, "RUNNING")

    def _arrivals(self) -> list[tuple[str, Callable[[str], list[int]]]]:
        return [*((name, self._of_topic) for name in self._topics), ("victim-s3", self._of_bucket)]

    def _feed(self) -> None:
        numbers = range(self.fed, self.fed + ROWS_PER_FEED)
        with closing(sqlite3.connect(self._database, timeout=60)) as database, database:
            database.executemany("insert into rows values (?)", [(n,) for n in numbers])
        with self._lines.open("a") as lines:
            lines.write("".join(f"{n}\n" for n in numbers))
        for n in numbers:
            self._producer.produce(self.s3_topic, json.dumps({"n": n, "p": "a"}).encode())
        self._producer.flush(30)
        self.fed += ROWS_PER_FEED

    def _of_topic(self, name: str) -> list[int]:
        found = [json.loads(value) for value in values(self.bootstrap_servers, self._topics[name])]
        return [row["n"] if isinstance(row, dict) else row for row in found]

    def _of_bucket(self, _name: str) -> list[int]:
        files = self._bucket.glob("topics/*/p=a/*.json")
        return [json.loads(line)["n"] for file in files for line in file.read_text().splitlines()]


def values(bootstrap_servers: str, topic: str) -> list[Any]:
    """Return the values of all records of a topic; none if there is no such topic."""
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": "looks", "enable.auto.commit": False}
    with closing(Consumer({**settings, "enable.partition.eof": True, "auto.offset.reset": "earliest"})) as consumer:
        left = set(consumer.list_topics(topic, timeout=30).topics[topic].partitions)
        # The client never reports the end of a topic that is written to all the time.
        ends = {n: consumer.get_watermark_offsets(TopicPartition(topic, n), timeout=30)[1] for n in left}
        consumer.assign([TopicPartition(topic, number, 0) for number in left])
        found: list[Any] = []
        while left and (record := consumer.poll(30)) is not None:
            error = record.error()
            if error is None:
                found.append(record.value())
                if record.offset() + 1 >= ends[record.partition()]:
                    left.discard(record.partition())
            elif error.code() == KafkaError._PARTITION_EOF:
                left.discard(record.partition())
            else:
                raise AssertionError(f"Topic {topic} cannot be read: {error}")
        return found
