"""Runs a random history of the BigQuery sink with faults, on Kafka, a worker, its task hosts and the emulator."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import psutil
import requests
from bigquery_dataset import Dataset
from bigquery_write_shim import WriteShim
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import WorkerProcess, wait_for
from histories import STANDSTILL, History
from test_bigquery_killed import SOON, config_of
from worker_log import Place, Sent, WorkerLog, send

from connect.tools.services import BigQueryService, KafkaEndpoint

MERGES: Final = ("merge", "compact", "auto")
"""These modes may follow each other, and `view` may follow them."""
FIRST_MODES: Final = (*MERGES, "view", "cdc", "cdc")
STANDSTILL_S: Final = float(os.environ.get(STANDSTILL, "240"))
"""While there are records to read, some must be committed within this many seconds, or at least a table made or
written, whichever fault came last. A merge waits 15 s for a task that is gone, a group 6 s, and the emulator is frozen
for 30 s at most; the rest is for a busy machine.
"""
LONGEST_S: Final = 1200.0
"""On a machine that is even busier, a MERGE takes 90 s and making a table 20 s, and many are needed before a commit."""
_WRITTEN: Final = re.compile(rb"(?:Merged into|Created|Loaded \d+ rows into) table")


@dataclass(frozen=True)
class Size:
    """Says how much happens in a history."""

    topics: tuple[int, ...]
    rounds: tuple[int, int]
    records: tuple[int, int]


@dataclass(frozen=True)
class Services:
    """Holds the services on which a history runs; it has its own worker."""

    kafka: KafkaEndpoint
    dataset: Dataset
    emulator: BigQueryService
    worker: WorkerProcess
    changes: WriteShim
    """It adds the API for changes to the emulator."""


@dataclass
class WorkerHistory:
    """Runs a history with its own topics, tables and connector. Everything that it does is drawn."""

    services: Services
    history: History
    name: str
    size: Size
    log: WorkerLog = field(init=False)
    config: dict[str, str] = field(init=False)
    _admin: AdminClient = field(init=False)
    _thaw: threading.Timer | None = None

    def __post_init__(self) -> None:
        self._admin = AdminClient({"bootstrap.servers": self.services.kafka.bootstrap_servers})
        self.log = self._made_topics()

    @property
    def letters(self) -> str:
        """Return the topic of the dead letters, as `config_of` names it."""
        return f"{self.name}-letters"

    def run(self) -> None:
        draw = self.history.draw
        self._send(self.log.first(draw))
        self._create()
        try:
            self._until(self.log.count)
            for _ in range(draw.randint(*self.size.rounds)):
                self._send(self.log.grown(draw, draw.randint(*self.size.records)))
                self._until(draw.randrange(self.log.count))
                fault = draw.choice([
                    self._kill_host, self._kill_worker, self._restart, self._freeze, self._freeze, self._reset,
                    self._change_mode, self._change_mode,
                ])  # fmt: skip
                fault()
            self._until(self.log.count)
        finally:
            self._end_freeze()
        self.services.changes.wait_until_it_rests(STANDSTILL_S)
        self._compare()
        self._call("DELETE", "")
        for table in self.services.dataset.tables():  # the emulator gets slower the more tables there are
            self.services.dataset.client.delete_table(f"{self.services.dataset.name}.{table}", not_found_ok=True)

    def _made_topics(self) -> WorkerLog:
        draw = self.history.draw
        self.config = {"dedup.mode": draw.choice(FIRST_MODES)}
        captures = self.config["dedup.mode"] == "cdc"
        topics = [f"{self.name}-{number:02}" for number in range(draw.choice(self.size.topics))]
        # Changes of two topics that have the same time, partition and offset are in no order that the model knows.
        tables = len(topics) if captures else draw.choice([1, 2, len(topics), len(topics)])
        partitions = 1 if len(topics) > 10 else draw.randint(1, 3)
        # Records, and dead letters with the records' times, are older than a broker keeps by default.
        made = self._admin.create_topics([
            NewTopic(name, 1 if name == self.letters else partitions, config={"retention.ms": "-1"})
            for name in (*topics, self.letters)
        ])  # fmt: skip
        for outcome in made.values():
            outcome.result(60)
        by_version = draw.random() < 0.5 and not captures
        self.history.note("topics", topics=len(topics), tables=tables, partitions=partitions, by_version=by_version)
        to = {topic: f"{self.name}-table-{number % tables}" for number, topic in enumerate(topics)}
        return WorkerLog(to, partitions, by_version)

    def _create(self) -> None:
        draw = self.history.draw
        drawn = {
            "tasks.max": draw.choice(["1", "2", "3"]), "dedup.mode": self.config["dedup.mode"],
            "dedup.delete": draw.choice(["tombstone", "soft"]) if self.config["dedup.mode"] != "cdc" else "tombstone",
            "dedup.merge.max.records": draw.choice(["20", "1000"]), "threadPoolSize": draw.choice(["1", "2", "10"]),
            "dedup.order.by": "version" if self.log.by_version else "__timestamp",
            "dedup.compact.interval.ms": draw.choice(["0", "3000", "86400000"]),
        }  # fmt: skip
        self.history.note("create", **drawn)
        others = {
            "topic2TableMap": self._table_map(),
            "consumer.override.max.poll.records": "30", "bigquery.request.timeout.ms": "20000",
            "bigquery.storage.endpoint": self.services.changes.endpoint,
        }  # fmt: skip
        config = config_of(self.services.kafka, self.services.dataset, self.name, **drawn, **others, **SOON)
        self.config = {**config, "topics": ",".join(self.log.tables)}
        self._call("PUT", "/config", self.config)

    def _send(self, records: list[Sent]) -> None:
        told = [(m.topic, m.partition, m.offset, m.id, m.time_s, m.version, value) for m, value in records]
        self.history.note("send", records=told)
        send(self.services.kafka.bootstrap_servers, records)

    # These methods are the faults.

    def _kill_host(self) -> None:
        """Kill a process that runs tasks; the worker starts another one."""
        hosts = wait_for(self._hosts, 60, f"a host; {self.services.worker.log_tail()}")
        self.history.note("kill a host", of=len(hosts))
        with suppress(psutil.NoSuchProcess):  # the process has ended meanwhile
            self.history.draw.choice(hosts).kill()

    def _hosts(self) -> list[psutil.Process]:
        """Return the processes that run tasks: those below the worker that have no child themselves."""
        try:
            below = psutil.Process(self.services.worker.pid).children(recursive=True)
            return [process for process in below if not process.children()]
        except psutil.NoSuchProcess:  # the process has ended meanwhile; the next look finds the others
            return []

    def _kill_worker(self) -> None:
        self.history.note("kill the worker")
        self.services.worker.kill()
        self.services.worker.start()

    def _restart(self) -> None:
        self.history.note("restart the connector")
        self._call("POST", "/restart?includeTasks=true&onlyFailed=false")

    def _change_mode(self) -> None:
        """Write rows in another mode from now on; rows that are on their way go on in the old one."""
        mode = self.config["dedup.mode"]
        if mode == "cdc" or (mode == "view" and self.log.by_version):
            self._restart()  # such tables stay as they are
        elif mode == "view":
            self._until(self.log.count)
            self._end_freeze()
            self._stop()
            self._copy_rows()
            self._set_mode(self.history.draw.choice(MERGES))
            self._call("PUT", "/resume")
        elif self.history.draw.random() < 0.4:
            self._end_freeze()
            self._stop()
            tables = self.services.dataset.tables()
            logs = [f"_{table}_log" for table in self.log.made if f"_{table}_log" in tables]
            # A table may only become a view once its log is merged.
            is_merged = not any(self.services.dataset.rows(log) for log in logs)
            self._set_mode("view" if is_merged else "merge")
            self._call("PUT", "/resume")
        else:
            self._set_mode(self.history.draw.choice([other for other in MERGES if other != mode]))

    def _copy_rows(self) -> None:
        """Do as the error about a table of every record says: copy what its view shows, and name the copy."""
        client, dataset = self.services.dataset.client, self.services.dataset.name
        copies = {table: f"{table}-rows" for table in self.log.made}
        for table, copy in copies.items():
            view = f"{table}_latest"
            self.services.dataset.query(f"CREATE TABLE `{dataset}`.`{copy}` AS SELECT * FROM `{dataset}`.`{view}`")
            for name in (view, table):  # the emulator gets slower the more tables there are
                client.delete_table(f"{dataset}.{name}")
        self.log.move(copies)
        self.config["topic2TableMap"] = self._table_map()

    def _table_map(self) -> str:
        return ",".join(f"{topic}:{table}" for topic, table in self.log.tables.items())

    def _set_mode(self, mode: str) -> None:
        self.config["dedup.mode"] = mode
        self.history.note("change the mode", mode=mode)
        self._call("PUT", "/config", self.config)

    def _stop(self) -> None:
        self.history.note("stop the connector")
        self._call("PUT", "/stop")
        wait_for(
            lambda: self.services.worker.status(self.name).get("connector", {}).get("state") == "STOPPED",
            STANDSTILL_S, f"the connector to stop; {self.services.worker.log_tail()}",
        )  # fmt: skip

    def _freeze(self) -> None:
        """Freeze the emulator while the history goes on."""
        self._end_freeze()
        seconds = self.history.draw.uniform(1, 30)
        self.history.note("freeze BigQuery", seconds=seconds)
        process = psutil.Process(self.services.emulator.pid)
        self._thaw = threading.Timer(seconds, process.resume)
        process.suspend()
        self._thaw.start()

    def _end_freeze(self) -> None:
        if self._thaw is not None:
            self._thaw.join()
            self._thaw = None

    def _reset(self) -> None:
        """Let the group begin again at the beginning, or somewhere in what it has read."""
        draw = self.history.draw
        self._stop()
        starts = [
            {
                "partition": {"kafka_topic": place.topic, "kafka_partition": place.partition},
                "offset": {"kafka_offset": draw.randint(self.log.start(place.topic, place.partition), place.offset)},
            }
            for place in self._places()
            if (draw.random() < 0.5 and place.offset >= 0) or self.log.start(place.topic, place.partition)
        ]
        self.history.note("reset the group", starts=starts)
        if starts:
            self._call("PATCH", "/offsets", {"offsets": starts})
        else:
            self._call("DELETE", "/offsets")
        self._call("PUT", "/resume")

    def _call(self, method: str, rest: str, body: dict[str, Any] | None = None) -> None:
        """Repeat a request until the worker carries it out, as it may be busy with an earlier one."""
        url = f"{self.services.worker.url}/connectors/{self.name}{rest}"
        answers: list[str] = []

        def is_done() -> bool:
            answer = requests.request(method, url, json=body, timeout=60)
            answers.append(f"{answer.status_code} {answer.text}")
            return answer.ok

        wait_for(is_done, STANDSTILL_S, f"{method} {rest}: {answers[-1:]}", pause_s=0.5)

    # These methods check what must hold.

    def _committed(self) -> int:
        return sum(max(0, place.offset) for place in self._places())

    def _places(self) -> list[TopicPartition]:
        """Return the group's committed offset of each partition; a negative offset means that there is none."""
        group = f"connect-{self.name}"
        places = [TopicPartition(topic, partition) for topic, partition in sorted(self.log.ends)]
        asked = self._admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])
        found: list[TopicPartition] = asked[group].result(60).topic_partitions
        return found

    def _until(self, count: int) -> None:
        """Wait until `count` records are committed. The history fails if nothing moves for STANDSTILL_S, or if tables
        are written for LONGEST_S without a commit.
        """
        last, wrote, pause = -1, -1, threading.Event()
        committed_s = wrote_s = time.monotonic()
        while (found := self._committed()) < count:
            now_s, written = time.monotonic(), len(_WRITTEN.findall(self.services.worker.log_path.read_bytes()))
            if found != last:
                last, committed_s = found, now_s
            if written != wrote:
                wrote, wrote_s = written, now_s
            is_stuck = now_s - max(committed_s, wrote_s) >= STANDSTILL_S or now_s - committed_s >= LONGEST_S
            assert not is_stuck, (
                f"nothing was committed for {now_s - committed_s:.0f} s: {found} of {self.log.count}; "
                f"{self.services.worker.status(self.name)}; {self.services.worker.log_tail()}"
            )
            pause.wait(0.25)

    def _compare(self) -> None:
        """Check that each table equals the model, and that exactly the bad records are dead letters."""
        for table in self.log.made:
            rows = self.services.dataset.rows(self._read_by_users(table))
            assert len({row["id"] for row in rows}) == len(rows), f"a key has two rows in {table}"
            found = {row["id"]: row["text"] for row in rows if not row.get("_deleted")}
            wanted = self.log.rows(table)
            differing = {key for key, _ in found.items() ^ wanted.items()}
            differing -= self.log.may_lack(table, found)
            assert not differing, (table, [(key, found.get(key), wanted.get(key)) for key in sorted(differing)])
        letters = self._letters()
        assert letters == self.log.bad, (
            f"no letters: {self.log.bad - letters}; no bad records: {letters - self.log.bad}"
        )

    def _read_by_users(self, table: str) -> str:
        """Return the relation that users read: the table or, if rows wait in its log or all records are kept, the view,
        which the first records of that mode make.
        """
        there, log, view = self.services.dataset.tables(), f"_{table}_log", f"{table}_latest"
        has_more = log in there and self.services.dataset.rows(log)
        return view if has_more or (self.config["dedup.mode"] == "view" and view in there) else table

    def _letters(self) -> set[Place]:
        """Return the places of the dead letters."""
        settings = {"bootstrap.servers": self.services.kafka.bootstrap_servers, "group.id": f"{self.name}-reader"}
        consumer, found = Consumer(settings), set()
        try:
            for letter in _until_end(consumer, self.letters):
                headers = {name: value.decode() for name, value in letter.headers()}
                place = [headers[f"__connect.errors.{what}"] for what in ("topic", "partition", "offset")]
                found.add((place[0], int(place[1]), int(place[2])))
        finally:
            consumer.close()
        return found


def _until_end(consumer: Consumer, topic: str) -> Iterator[Message]:
    """Yield all records that a topic has now."""
    for number in consumer.list_topics(topic, timeout=60).topics[topic].partitions:
        first, end = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=60)
        consumer.assign([TopicPartition(topic, number, first)])
        for _ in range(first, end):
            letter = consumer.poll(60)
            assert letter is not None, "a dead letter cannot be read"
            assert letter.error() is None, letter.error()
            yield letter
