"""Runs a random history of a cluster, and compares every surface of it with the plain model after each step."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import psutil
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import WorkerProcess, wait_for
from histories import History
from truth_model import Model, Sink, Source
from truth_surfaces import SURFACES, Metrics, Sample, Told

AGREE_S = 90.0
"""All surfaces agree within a few seconds; a busy machine needs longer."""
HOSTILE = 'a"b\\c<img src=x>é😀'
_STATES = {"pause": "PAUSED", "resume": "RUNNING", "stop": "STOPPED"}
_RECORD = {"schema": {"type": "struct", "fields": [{"field": "id", "type": "int64"}]}}


class TruthHistory:
    """Does random steps to connectors, hosts and workers, and compares what the surfaces say."""

    def __init__(self, history: History, folder: Path, bootstrap_servers: str, cluster: str) -> None:
        self._history, self._draw, self._folder, self._cluster = history, history.draw, folder, cluster
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers})
        self.workers = [
            WorkerProcess(
                folder / f"worker-{number}", bootstrap_servers, cluster,
                **{"auto.restart.backoff.initial.ms": "500", "auto.restart.backoff.max.ms": "1000"},
            )
            for number in range(2)
        ]  # fmt: skip
        self._model = Model()
        self._locks: dict[str, sqlite3.Connection] = {}
        self._producer = Producer({"bootstrap.servers": bootstrap_servers})
        self._counted: dict[tuple[str, Sample], float] = {}

    def run(self, steps: int) -> None:
        """Start everything, do the steps, and compare after each."""
        for worker in self.workers:
            worker.start()
        for make in (self._make_sink, self._make_sink, self._make_source):
            make()
        self._agree()
        for _ in range(steps):
            moves = self._step()
            if moves:
                self._model.remake_tasks()
            self._agree()
            if moves:
                self._model.remake_tasks()

    def end(self) -> None:
        """Stop everything."""
        for lock in self._locks.values():
            lock.close()
        for worker in self.workers:
            worker.stop()

    def _step(self) -> bool:
        """Do a random step. Return True if tasks may be made anew by it, also those of other connectors."""
        steps = [self._write] * 4 + [self._change_state] * 6 + [self._lock] * 3
        steps += [self._delete, self._kill_host, self._restart_worker, self._make_sink, self._make_source, self._unlock]
        step = self._draw.choice(steps)
        step()
        return step not in (self._write, self._lock, self._unlock)

    def _sink_names(self) -> list[str]:
        return sorted(self._model.sinks)

    def _make_sink(self) -> None:
        name = f"{HOSTILE} {len(self._model.names | self._model.deleted)}"
        self._history.note("make a sink", name=name)
        topic = f"{self._cluster}-{len(self._model.names | self._model.deleted)}"
        self._admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(30)
        self._model.sinks[name] = Sink(name)
        config = {
            "connector.class": "JdbcSinkConnector", "topics": topic, "auto.create": "true",
            "connection.url": f"jdbc:sqlite:{self._database(name)}", "table.name.format": "taken",
            "max.retries": "100000", "retry.backoff.ms": "300",
            "consumer.override.auto.offset.reset": "earliest",
        }  # fmt: skip
        self._write(name)
        self._create(name, config)

    def _make_source(self) -> None:
        name = f"source {len(self._model.names | self._model.deleted)}"
        self._history.note("make a source", name=name)
        with closing(sqlite3.connect(self._database(name))) as table:
            table.execute("CREATE TABLE given (id INTEGER PRIMARY KEY)")
            table.commit()
        self._model.sources[name] = Source(name)
        self._create(name, {
            "connector.class": "JdbcSourceConnector", "connection.url": f"jdbc:sqlite:{self._database(name)}",
            "table.whitelist": "given", "mode": "incrementing", "incrementing.column.name": "id",
            "topic.prefix": f"{self._cluster}-{name.replace(' ', '-')}-", "poll.interval.ms": "500",
        })  # fmt: skip

    def _create(self, name: str, config: Mapping[str, str]) -> None:
        answer = self._draw.choice(self.workers).create(name, config)
        assert answer.status_code == 201, answer.text

    def _write(self, name: str = "") -> None:
        """Write records for a sink, or rows for a source."""
        count = self._draw.randint(1, 500)
        name = name or self._draw.choice(sorted(self._model.names))
        self._history.note("write", name=name, count=count)
        if name in self._model.sources:
            with closing(sqlite3.connect(self._database(name), timeout=30)) as table:
                table.executemany("INSERT INTO given DEFAULT VALUES", [()] * count)
                table.commit()
            self._model.sources[name].insert(count)
            return
        sink = self._model.sinks[name]
        for number in range(count):
            value = json.dumps({**_RECORD, "payload": {"id": sink.written + number}})
            self._producer.produce(f"{self._cluster}-{name.rpartition(' ')[2]}", value, partition=number % 2)
        assert self._producer.flush(60) == 0
        sink.written += count

    def _change_state(self) -> None:
        name, what = self._draw.choice(sorted(self._model.names)), self._draw.choice([*_STATES, "pause", "restart"])
        self._history.note(what, name=name)
        method, path = ("POST", "/restart?includeTasks=true") if what == "restart" else ("PUT", f"/{what}")
        if what == "restart" and self._model.state(name) != "RUNNING":
            return
        answer = self._draw.choice(self.workers).call(method, name, path)
        assert answer.status_code in {202, 204}, answer.text
        self._model.set_state(name, _STATES.get(what, "RUNNING"))

    def _delete(self) -> None:
        if len(self._model.names) < 3:
            return
        name = self._draw.choice(sorted(self._model.names))
        self._history.note("delete", name=name)
        assert self._draw.choice(self.workers).call("DELETE", name).status_code == 204
        self._model.sinks.pop(name, None)
        self._model.sources.pop(name, None)
        self._model.deleted.add(name)

    def _lock(self) -> None:
        """Have a target refuse everything, and send it something."""
        free = [name for name in self._sink_names() if not self._model.sinks[name].is_away]
        if not free:
            return
        name = self._draw.choice(free)
        self._history.note("break the target", name=name)
        lock = sqlite3.connect(self._database(name), timeout=30, isolation_level=None, check_same_thread=False)
        lock.execute("BEGIN EXCLUSIVE")
        self._locks[name] = lock
        self._model.sinks[name].is_away = True
        self._write(name)

    def _unlock(self) -> None:
        for name, lock in self._locks.items():
            self._history.note("mend the target", name=name)
            lock.close()
            if name in self._model.sinks:
                self._model.sinks[name].is_away = False
        self._locks.clear()

    def _kill_host(self) -> None:
        """Kill a process that runs tasks."""
        worker = psutil.Process(self._draw.choice(self.workers).pid)
        hosts = [host for server in worker.children() for host in server.children()]
        if hosts:
            host = self._draw.choice(hosts)
            self._history.note("kill a host", pid=host.pid)
            host.kill()

    def _restart_worker(self) -> None:
        worker = self._draw.choice(self.workers)
        self._history.note("kill a worker", url=worker.url)
        worker.kill()
        worker.start()
        # The worker's counters begin anew.
        self._counted = {key: value for key, value in self._counted.items() if key[0] != worker.url}

    def _database(self, name: str) -> Path:
        return self._folder / f"{name.rpartition(' ')[2]}.db"

    def _agree(self) -> None:
        """Wait until every surface says what is true. AssertionError: one of them does not in time."""
        self._model.settle()
        last: list[str] = []

        def differences() -> bool:
            last[:] = self._differences()
            return not last

        wait_for(differences, AGREE_S, lambda: "\n".join(last), 0.5)
        self._history.note("all agree")

    def _differences(self) -> list[str]:
        urls = [worker.url for worker in self.workers]
        metrics = Metrics(urls)
        self._counters_grow(metrics)
        try:
            told = {"/metrics": metrics.told()}
        except AssertionError as error:
            return [str(error)]
        told |= {f"{what} of {url}": ask(url) for what, ask in SURFACES.items() for url in urls}
        found = [line for surface, said in told.items() for line in self._compared(surface, said)]
        found += [f"/metrics still tells of {name}" for name in sorted(metrics.connectors() - self._model.names)]
        return [*found, *self._sources(metrics)]

    def _compared(self, surface: str, said: Mapping[str, Told]) -> Iterator[str]:
        if set(said) != self._model.names:
            yield f"{surface} names {sorted(said)}; there are {sorted(self._model.names)}"
        for name in self._model.names & set(said):
            told, state = said[name], self._model.state(name)
            if told.state != state:
                yield f"{surface}: {name} is {told.state}; it is {state}"
            sink = self._model.sinks.get(name)
            tells_lag = surface.partition(" of ")[0] not in {"REST", "connect status"}
            if sink is not None and tells_lag and told.lag_rows != sink.waiting:
                yield f"{surface}: {told.lag_rows} records wait for {name}; it is {sink.waiting}"

    def _sources(self, metrics: Metrics) -> Iterator[str]:
        """Yield what is wrong about the lag of sources, which must be at least the lag of the rows that wait."""
        seconds = metrics.of("kafka_connect_task_source_lag_seconds")
        rows = metrics.of("kafka_connect_task_source_lag_rows")
        for name, source in self._model.sources.items():
            told = [value for _, value in seconds.get(name, ())]
            if source.waits_since_s is not None and source.state == "PAUSED":
                if told and told[0] < source.least_lag_s:
                    yield f"{name} is {told[0]} s behind; it is {source.least_lag_s} s at least"
                if any(value == 0 for _, value in rows.get(name, ())):
                    yield f"no row waits for {name}, it says; it is {source.rows - source.sent}"
            elif source.state == "RUNNING" and told != [0.0]:
                yield f"{name} is drained, and {told} s behind"

    def _counters_grow(self, metrics: Metrics) -> None:
        """Raise AssertionError if a counter of a worker's whole life has decreased."""
        for url, samples in metrics.by_worker.items():
            for key, value in samples.items():
                if key[0] in metrics.counters and not key[1]:
                    before = self._counted.get((url, key), 0.0)
                    assert value >= before, f"{key[0]} of {url} fell from {before} to {value}"
                    self._counted[url, key] = value
