"""One random history of a worker whose counts of rows are compared with SQL, with files and with offsets of topics."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import WorkerProcess, wait_for
from histories import History
from truth_surfaces import Metrics

AGREE_S = 120.0
PARTITIONS = 2
_SCHEMA = {"type": "struct", "fields": [{"field": "id", "type": "int64"}]}
_BAD = b'{"schema": broken'
_TASK = "kafka_connect_task_"


@dataclass
class Part:
    """Counts the records of a partition: those of its whole life, and those that no reader of today can have."""

    written: int = 0
    read: int = 0
    bad: list[int] = field(default_factory=list)
    """The offsets of records that no converter reads."""
    missed: int = 0

    def bad_within(self, begin: int, end: int) -> int:
        """Return how many bad records there are from one offset to before another."""
        return sum(begin <= offset < end for offset in self.bad)


@dataclass
class Sink:
    """Knows what a sink has to say, by what its topic has and what was done."""

    name: str
    rests: str = ""
    parts: list[Part] = field(default_factory=lambda: [Part() for _ in range(PARTITIONS)])
    good: int = 0
    letters: int = 0
    run_good: int = 0
    run_letters: int = 0
    run_missed: int = 0

    def settle(self) -> None:
        """Take note that time goes by: who runs has read everything."""
        for part in () if self.rests else self.parts:
            bad = part.bad_within(part.read, part.written)
            good = part.written - part.read - bad
            self.good, self.run_good = self.good + good, self.run_good + good
            self.letters, self.run_letters = self.letters + bad, self.run_letters + bad
            part.read = part.written

    def begin_run(self) -> None:
        """Take note that its task begins anew, and its counters with it."""
        self.run_good = self.run_letters = self.run_missed = 0

    @property
    def waiting(self) -> int:
        """Return the records behind its offsets that were not read; it hears of deleted ones only when it goes on."""
        return sum(part.written - part.read + part.missed for part in self.parts)


class CountsHistory:
    """Does random steps to sinks and sources, and compares counts."""

    def __init__(self, history: History, folder: Path, bootstrap_servers: str, cluster: str) -> None:
        self._history, self._draw, self._folder, self._cluster = history, history.draw, folder, cluster
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        self._producer = Producer({"bootstrap.servers": bootstrap_servers})
        self._consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": f"{cluster}-counts"})
        self.worker = WorkerProcess(folder / "worker", bootstrap_servers, cluster)
        self._sinks = [Sink("jdbc"), Sink("files")]
        self._rows = 0
        self._source_rests = False

    def run(self, steps: int) -> None:
        """Start, do steps, compare after each."""
        self.worker.start()
        for sink in self._sinks:
            self._make(sink)
        self._make_source()
        self._agree()
        for _ in range(steps):
            steps_of = [self._put] * 4 + [self._rest] * 2 + [self._go_on] * 2 + [self._restart, self._delete_records]
            self._draw.choice([*steps_of, self._insert, self._insert, self._rest_source])()
            self._agree()
        for sink in self._sinks:
            self._resume(sink)
        self._agree()

    def end(self) -> None:
        """Let everything go."""
        self._consumer.close()
        self.worker.stop()

    # --- steps ---

    def _make(self, sink: Sink) -> None:
        self._admin.create_topics([NewTopic(self._topic(sink.name), PARTITIONS, 1)])[self._topic(sink.name)].result(30)
        config = {
            "topics": self._topic(sink.name), "tasks.max": "1", "consumer.override.auto.offset.reset": "earliest",
            "errors.tolerance": "all", "errors.deadletterqueue.topic.name": self._topic(f"{sink.name}-letters"),
            "errors.deadletterqueue.topic.replication.factor": "1",
        }  # fmt: skip
        if sink.name == "jdbc":
            config |= {
                "connector.class": "JdbcSinkConnector", "auto.create": "true", "table.name.format": "taken",
                "connection.url": f"jdbc:sqlite:{self._folder / 'taken.db'}",
            }  # fmt: skip
        else:
            config |= {"connector.class": "FileStreamSink", "file": str(self._folder / "taken.txt")}
        self._put(sink)
        self._create(sink.name, config)

    def _make_source(self) -> None:
        with closing(sqlite3.connect(self._folder / "given.db")) as table:
            table.execute("CREATE TABLE given (id INTEGER PRIMARY KEY, at TIMESTAMP NOT NULL)")
            table.commit()
        self._create("source", {
            "connector.class": "JdbcSourceConnector", "connection.url": f"jdbc:sqlite:{self._folder / 'given.db'}",
            "table.whitelist": "given", "mode": "timestamp", "timestamp.column.name": "at", "poll.interval.ms": "300",
            "topic.prefix": f"{self._cluster}-",
        })  # fmt: skip
        self._insert()

    def _create(self, name: str, config: Mapping[str, str]) -> None:
        answer = self.worker.create(name, config)
        assert answer.status_code == 201, answer.text

    def _put(self, sink: Sink | None = None) -> None:
        """Give a sink records, some of which no converter reads."""
        sink = sink or self._draw.choice(self._sinks)
        count, bad = self._draw.randint(1, 200), self._draw.choice([0.0, 0.1, 1.0])
        self._history.note("put", sink=sink.name, count=count, bad=bad)
        for number in range(count):
            at = self._draw.randrange(PARTITIONS)
            part = sink.parts[at]
            value = json.dumps({"schema": _SCHEMA, "payload": {"id": number}}).encode()
            if self._draw.random() < bad:
                part.bad.append(part.written)
                value = _BAD
            self._producer.produce(self._topic(sink.name), value, partition=at)
            part.written += 1
        assert self._producer.flush(60) == 0

    def _rest(self) -> None:
        sink, what = self._draw.choice(self._sinks), self._draw.choice(["pause", "stop"])
        if not sink.rests:
            self._history.note(what, sink=sink.name)
            self._call("PUT", sink.name, f"/{what}")
            sink.rests = what

    def _go_on(self) -> None:
        self._resume(self._draw.choice(self._sinks))

    def _resume(self, sink: Sink) -> None:
        if sink.rests:
            self._history.note("resume", sink=sink.name)
            if sink.rests == "stop":
                sink.begin_run()
            sink.rests = ""
            for part in sink.parts:
                sink.run_missed += part.missed
                part.missed = 0
            self._call("PUT", sink.name, "/resume")

    def _restart(self) -> None:
        sink = self._draw.choice(self._sinks)
        if not sink.rests:
            self._history.note("restart", sink=sink.name)
            self._call("POST", sink.name, "/restart?includeTasks=true")
            sink.begin_run()

    def _delete_records(self) -> None:
        """Delete the records of a partition that a sink at rest has not read, or has read."""
        sink, at = self._draw.choice(self._sinks), self._draw.randrange(PARTITIONS)
        part = sink.parts[at]
        self._history.note("delete records", sink=sink.name, partition=at, rests=sink.rests)
        place = TopicPartition(self._topic(sink.name), at, part.written)
        self._admin.delete_records([place])[place].result(60)
        if sink.rests:
            part.missed += part.written - part.read
            part.read = part.written

    def _insert(self) -> None:
        count = self._draw.randint(1, 200)
        self._history.note("insert", count=count)
        with closing(sqlite3.connect(self._folder / "given.db", timeout=30)) as table:
            rows = [(f"2024-01-01 00:{n // 60_000 % 60:02}:{n // 1000 % 60:02}.{n % 1000:03}",)
                    for n in range(self._rows, self._rows + count)]  # fmt: skip
            table.executemany("INSERT INTO given (at) VALUES (?)", rows)
            table.commit()
        self._rows += count

    def _rest_source(self) -> None:
        self._source_rests = not self._source_rests
        self._history.note("pause the source" if self._source_rests else "resume the source")
        self._call("PUT", "source", "/pause" if self._source_rests else "/resume")

    # --- comparisons ---

    def _agree(self) -> None:
        for sink in self._sinks:
            sink.settle()
        last: list[str] = []

        def differences() -> bool:
            last[:] = self._differences(Metrics([self.worker.url]))
            return not last

        wait_for(differences, AGREE_S, lambda: "\n".join(last), 0.3, by=self.worker)
        self._history.note("all agree")

    def _differences(self, metrics: Metrics) -> Iterator[str]:
        def told(name: str, metric: str) -> Any:
            found = metrics.of(metric).get(name, ())
            return next((value for _, value in found), None)

        for sink in self._sinks:
            name = sink.name
            yield from _differ(f"rows in the target of {name}", self._taken(name), sink.good)
            yield from _differ(f"letters of {name}", self._end(self._topic(f"{name}-letters")), sink.letters)
            if sink.rests != "stop":
                yield from _differ(f"lag of {name}", told(name, f"{_TASK}lag_rows"), sink.waiting)
                yield from _differ(f"rows of {name}", told(name, f"{_TASK}rows_total"), sink.run_good)
                yield from _differ(
                    f"dead letters of {name}", told(name, f"{_TASK}dead_letters_total"), sink.run_letters
                )
                yield from _differ(f"skipped of {name}", told(name, f"{_TASK}skipped_total"), sink.run_letters)
                if not sink.rests:
                    yield from _differ(f"missed of {name}", told(name, f"{_TASK}missed_rows_total"), sink.run_missed)
                latency = told(name, f"{_TASK}latency_seconds_count") or 0.0  # a histogram of nothing is left out
                yield from _differ(f"latencies of {name}", latency, sink.run_good + sink.run_letters)
        if not self._source_rests:
            yield from _differ("rows of the source", self._end(f"{self._cluster}-given"), self._rows)
            yield from _differ("lag of the source", told("source", f"{_TASK}source_lag_seconds"), 0.0)
        elif self._end(f"{self._cluster}-given") < self._rows and told("source", f"{_TASK}source_lag_rows") == 0:
            yield "the source says that no row waits"

    def _taken(self, name: str) -> int:
        if name == "files":
            file = self._folder / "taken.txt"
            return len(file.read_text().splitlines()) if file.exists() else 0
        with closing(sqlite3.connect(self._folder / "taken.db", timeout=30)) as table:
            if not table.execute("SELECT 1 FROM sqlite_master WHERE name = 'taken'").fetchone():
                return 0
            return int(table.execute("SELECT count(*) FROM taken").fetchone()[0])

    def _end(self, topic: str) -> int:
        """Return how many records were ever written to a topic."""
        known = self._consumer.list_topics(topic, 30).topics[topic]
        places = () if known.error is not None else known.partitions
        return sum(self._consumer.get_watermark_offsets(TopicPartition(topic, at), 30)[1] for at in places)

    def _call(self, method: str, name: str, path: str) -> None:
        answer = self.worker.call(method, name, path)
        assert answer.status_code in {202, 204, requests.codes.ok}, answer.text

    def _topic(self, name: str) -> str:
        return f"{self._cluster}-{name}"


def _differ(what: str, told: Any, counted: float) -> Iterator[str]:
    if told != counted:
        yield f"{what}: told {told}, counted {counted}"
