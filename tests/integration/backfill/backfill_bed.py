"""Runs a broker, a database and a worker for random histories of backfills, and commands as people type them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psutil
import sqlalchemy as sa
import warm_process
from backfill_job import messages
from backfill_truth import Event
from confluent_kafka import Message
from e2e_worker import WorkerProcess
from warm_process import WarmProcess

from connect.client.rest import Access, ConnectClient
from connect.tools.services import KafkaService
from connect.tools.services.postgres import PostgresService

COMMAND_S: Final = 180.0
_RESTARTED_KAFKA: Final = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}


class Bed:
    """Holds the services, which a history may harm and heal. Owned by one thread."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.kafka, self.postgres = KafkaService(properties=_RESTARTED_KAFKA), PostgresService()
        with ThreadPoolExecutor(2) as pool:
            starting = [pool.submit(stack.enter_context, one) for one in (self.kafka, self.postgres)]
        for one in starting:
            one.result()
        self.worker = WorkerProcess(folder / "worker", self.kafka.endpoint.bootstrap_servers, "backfill-histories")
        self.worker.start()
        stack.callback(self.worker.stop)
        self.client = ConnectClient(Access(self.worker.url))

    @property
    def database(self) -> sa.URL:
        """Return the URL of the database into which writers write."""
        e = self.postgres.endpoint
        return sa.URL.create("postgresql+psycopg", e.user, e.password, e.host, e.port, e.database)

    def records(self, topic: str) -> list[Message]:
        """Return the records of a topic that a reader of committed records gets."""
        return messages(self.kafka.endpoint, topic)


class Command:
    """Runs one `connect backfill` command."""

    def __init__(self, bed: Bed, log: Path, *words: str) -> None:
        worker = bed.folder / "worker" / "worker.properties"
        self._log = log
        with log.open("ab") as out:
            out.write(f"\n$ connect backfill {' '.join(words)}\n".encode())
            out.flush()
            self._begins = out.tell()
            self.process: WarmProcess = warm_process.start(
                ["backfill", *words, "--worker", str(worker)],
                folder=bed.folder, environ=os.environ, stdout=out.fileno(), stderr=out.fileno(),
            )  # fmt: skip

    @property
    def runs(self) -> bool:
        """Return True if the command has not ended."""
        return self.process.poll() is None

    @property
    def said(self) -> str:
        """Return what the command has printed, and what other commands with the same log have printed meanwhile."""
        with self._log.open("rb") as log:
            log.seek(self._begins)
            return log.read().decode(errors="replace")

    def tree(self) -> list[psutil.Process]:
        """Return the command's process and those of its lanes."""
        try:
            driver = psutil.Process(self.process.pid)
            return [driver, *driver.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def lanes(self) -> list[psutil.Process]:
        """Return the processes that run lanes, without those that only look after them."""
        return [one for one in self.tree()[1:] if _is_lane(one)]

    def end(self) -> None:
        """Kill the command and its lanes."""
        for process in self.tree():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)
                process.kill()
        self.process.wait(30)


def _is_lane(process: psutil.Process) -> bool:
    try:
        return "spawn_main" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False


def connector(bed: Bed, name: str, mode: str, partitions: int) -> dict[str, str]:
    """Return the configuration of a history's source connector."""
    e = bed.postgres.endpoint
    given = {
        "connector.class": "JdbcSource", "tasks.max": "1", "table.whitelist": name, "mode": mode,
        "connection.url": f"jdbc:postgresql://{e.host}:{e.port}/{e.database}", "connection.user": e.user,
        "connection.password": e.password, "poll.interval.ms": "100", "exactly.once.support": "required",
        "topic.creation.default.partitions": str(partitions), "topic.creation.default.replication.factor": "1",
        "topic.prefix": "bf-",
    }  # fmt: skip
    if mode == "log":
        own = {"slot.name": name, "publication.name": name, "topic.name.format": "bf-${table}"}
        return given | own | {"max.batch.size": "100"}
    given |= {"incrementing.column.name": "id"}
    return given | ({} if mode == "incrementing" else {"timestamp.column.name": "ts"})


def event(message: Message) -> Event | None:
    """Return a record as an event; None for a tombstone."""
    if message.value() is None:
        return None
    value: Mapping[str, Any] = json.loads(message.value() or b"")["payload"]
    if "op" not in value:
        return Event(value["id"], value["v"], "r")
    before, after = value["before"], value["after"]
    row = (after or before)["id"]
    return Event(row, after and after["v"], value["op"], before and before["v"])


@contextmanager
def bed(folder: Path) -> Iterator[Bed]:
    """Yield all services. In the end they are stopped with all their processes."""
    with ExitStack() as stack:
        yield Bed(folder, stack)
