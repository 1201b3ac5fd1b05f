"""Shows the demo's second act: Spark moves the flights in bulk, its driver is killed, and the connector goes on after
it.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from connect.api.errors import ConnectError
from connect.lib import python_child
from connect.tools.demo.dataset import FLIGHTS, Dataset
from connect.tools.demo.screen import Screen
from connect.tools.demo.worker import DemoWorker
from connect.tools.services import KafkaEndpoint
from connect.tools.services.process.process import Command, SupervisedProcess

TOPIC: Final = "bulk-flights"
NEW_ROWS: Final = 1_000
KILL_AT: Final = 0.3
STEP_TIMEOUT_S: Final = 480.0
"""Spark starts twice, and takes minutes for it on a machine that has other work."""
_LOOK_S: Final = 0.1
_READ_S: Final = 5.0
_SLICE_S: Final = 0.2
_END_S: Final = 10.0


class BackfillAct:
    """Moves the flights by a backfill and hands over to the connector. It is owned by the demo's main thread."""

    def __init__(
        self, screen: Screen, worker: DemoWorker, kafka: KafkaEndpoint, dataset: Dataset, configs: Path
    ) -> None:
        """Take the folder `configs`, which holds the job's spec and its connector."""
        self._screen = screen
        self._worker = worker
        self._kafka = kafka
        self._dataset = dataset
        self._spec = configs / "flights.yaml"
        self._log = worker.log_path.with_name("backfill.log")
        self._waiting = threading.Event()

    def run(self, connector: dict[str, Any], *, kill: bool) -> bool:
        """Move the flights, verify them, hand over to the connector, and add rows; return True if every row came once.

        `connector` is created stopped.
        """
        self._worker.rest.create(connector["name"], connector["config"], "STOPPED")
        self._screen.say(f"POST /connectors {connector['name']}: created stopped; a backfill reads its table first")
        start_s = time.monotonic()
        if kill:
            self._run_and_kill()
        self._step("run", "--url", self._worker.rest.url)
        rows = self._dataset.rows[FLIGHTS.name]
        self._screen.say(
            f"{rows:,} flights: SQLite -> Spark -> Kafka {time.monotonic() - start_s:.1f} s, start included"
        )
        verdict = json.loads(self._step("verify", "--json"))
        self._screen.say(
            f"connect backfill verify: {len(verdict['chunks'])} chunks, {verdict['missing']} rows missing, "
            f"{verdict['twice']} twice"
        )
        self._step("handover", "--url", self._worker.rest.url)
        self._insert()
        self._screen.say(f"connect backfill handover: the connector runs from the mark; {NEW_ROWS:,} flights are new")
        return bool(verdict["good"]) and self._every_row_once(rows + NEW_ROWS)

    def _run_and_kill(self) -> None:
        process = self._start("run", "--url", self._worker.rest.url)
        wanted = KILL_AT * self._dataset.rows[FLIGHTS.name]
        self._wait(lambda: self._records() >= wanted or not process.running, "the backfill's first chunks")
        if not process.running:
            raise ConnectError(
                f"The backfill ended before it could be killed. The end of its log:\n{process.log_tail()}"
            )
        os.kill(process.pid, signal.SIGKILL)
        process.wait(_END_S)
        process.kill()
        self._screen.say(
            f"[bold]kill -9 {process.pid}[/bold]: Spark's driver dies with about {self._records():,} flights in Kafka; "
            "the same command is started again"
        )

    def _start(self, command: str, *options: str) -> SupervisedProcess:
        argv = python_child.command(
            "connect.cli", "backfill", command, str(self._spec), "--worker", str(self._worker.config_path), *options
        )
        return SupervisedProcess(Command(argv, self._log.parent, self._log, leftovers=[self._log.parent]))

    def _step(self, command: str, *options: str) -> str:
        """Run a command to its end, and return the last line that it printed."""
        process = self._start(command, *options)
        try:
            self._wait(lambda: not process.running, f"connect backfill {command}")
        finally:
            process.kill()
        tail = process.log_tail()
        if not process.succeeded:
            raise ConnectError(f"connect backfill {command} failed. The end of its log:\n{tail}")
        return tail.splitlines()[-1]

    def _wait(self, condition: Callable[[], bool], waiting_for: str) -> None:
        limit_s = time.monotonic() + STEP_TIMEOUT_S
        while not condition():
            if time.monotonic() > limit_s:
                raise ConnectError(
                    f"After {STEP_TIMEOUT_S:.0f} s still waiting for {waiting_for}.", fix=f"See {self._log}."
                )
            self._waiting.wait(_LOOK_S)

    def _insert(self) -> None:
        names = ", ".join(f'"{column.name}"' for column in FLIGHTS.columns if column.name != "id")
        copy = f"INSERT INTO flights ({names}) SELECT {names} FROM flights ORDER BY id LIMIT {NEW_ROWS}"  # noqa: S608 - names of our own
        with sqlite3.connect(self._dataset.path) as connection:
            connection.execute(copy)

    def _every_row_once(self, rows: int) -> bool:
        """Read the topic with a raw client until it has `rows` rows, and once more; return True if each id came
        once.
        """
        self._wait(lambda: len(self._ids()) >= rows, "the connector's new rows")
        times = Counter(self._ids())
        missing = rows - len(times.keys() & set(range(1, rows + 1)))
        twice = sum(count - 1 for count in times.values())
        good = missing == 0 and twice == 0
        colour = "green" if good else "red"
        self._screen.say(
            f"[{colour}]{'equal' if good else 'NOT equal'}[/{colour}]: "
            f"of {rows:,} flights {missing} missing, {twice} twice"
        )
        return good

    def _records(self) -> int:
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self._kafka.bootstrap_servers, "group.id": "demo-backfill"})
        try:
            known = consumer.list_topics(timeout=_READ_S).topics.get(TOPIC)
            partitions = () if known is None else known.partitions
            ends = [consumer.get_watermark_offsets(TopicPartition(TOPIC, p), timeout=_READ_S) for p in partitions]
        finally:
            consumer.close()
        return sum(high - low for low, high in ends)

    def _ids(self) -> Sequence[int]:
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": self._kafka.bootstrap_servers,
                "group.id": "demo-backfill",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            }
        )
        ids: list[int] = []
        try:
            partitions = consumer.list_topics(TOPIC, timeout=_READ_S).topics[TOPIC].partitions
            consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in partitions])
            left = set(partitions)
            while left:
                for message in consumer.consume(10_000, _SLICE_S):
                    if message.error() is not None:
                        left.discard(message.partition() or 0)
                    else:
                        ids.append(json.loads(message.value() or b"")["payload"]["id"])
        finally:
            consumer.close()
        return ids
