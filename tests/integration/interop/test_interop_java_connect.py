"""Runs one cluster with Apache Kafka Connect's worker and ours by turns: each goes on where the other stopped."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from e2e_worker import WorkerProcess, wait_for
from interop_cluster import (
    SLOW_S,
    Rest,
    append,
    java_worker,
    keys_in,
    lines_in,
    our_worker,
    sink,
    source,
    wait_for_lines,
)

from connect.tools.services import KafkaEndpoint, ServiceStartError
from connect.tools.services.java_connect import JavaConnectService
from connect.tools.services.process.process import Command, SupervisedProcess

pytestmark = pytest.mark.timeout(600)
NEW = "new ü 😀"
"""Its name is in the keys of all internal topics, in characters that JSON writers write in different ways."""
SOURCES = ("running", "paused", "stopped", "deleted")
GIVES_UP = re.compile(r"Uncaught exception in herder work thread, exiting:.*\n.*InconsistentGroupProtocolException")


@dataclass
class Journey:
    """A cluster that goes from Java to ours and back, and what was seen on the way."""

    kafka: KafkaEndpoint
    folder: Path
    group: str
    written: dict[str, list[str]] = field(default_factory=dict)
    views: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    read_while_not_running: dict[str, list[str]] = field(default_factory=dict)
    logs: dict[str, str] = field(default_factory=dict)

    def file(self, name: str) -> Path:
        return self.folder / f"{_ascii(name)}.txt"

    def topic(self, name: str) -> str:
        return f"{self.group}-{_ascii(name)}"

    def write(self, name: str, text: str) -> None:
        lines = [f"{_ascii(name)} {text} {n}" for n in range(5)]
        append(self.file(name), lines)
        self.written.setdefault(name, []).extend(lines)

    def read(self, name: str) -> list[str]:
        return lines_in(self.kafka, self.topic(name))

    def wait_until_read(self, rest: Rest, *names: str) -> None:
        """Until the lines are in the topic and the offset behind them is stored."""
        for name in names:
            wait_for_lines(self.kafka, self.topic(name), len(self.written[name]))
            rest.wait_for_offset(name, {"position": self.file(name).stat().st_size})

    def wait_until_sunk(self, rest: Rest) -> None:
        """Until the sink has committed all that is in its topic."""
        rest.wait_for_offset("interop-sink", {"kafka_offset": len(self.written["running"])})

    def sunk(self) -> list[str]:
        return self.file("sunk").read_text(encoding="ascii").splitlines() if self.file("sunk").exists() else []

    def run_java_first(self, rest: Rest) -> None:
        for name in SOURCES:
            self.write(name, "before Java")
            rest.create(name, source(self.file(name), self.topic(name)))
        self.wait_until_read(rest, *SOURCES)
        # Only now: Java's consumer may look for a topic that is not there yet again after five minutes.
        rest.create("interop-sink", sink(self.file("sunk"), self.topic("running")))
        self.wait_until_sunk(rest)
        rest.put("/paused/pause")
        rest.put("/stopped/stop")
        rest.wait_for_states(
            {
                "running": "RUNNING",
                "interop-sink": "RUNNING",
                "paused": "PAUSED",
                "stopped": "STOPPED",
                "deleted": "RUNNING",
            }
        )
        self.views["Java"] = rest.view()

    def run_ours(self, rest: Rest) -> None:
        self.views["ours"] = rest.view_once_it_is(self.views["Java"])
        for name in ("running", "paused", "stopped"):
            self.write(name, "under ours")
        self.wait_until_read(rest, "running")
        self.wait_until_sunk(rest)
        self.read_while_not_running.update({name: self.read(name) for name in ("paused", "stopped")})
        rest.delete("/deleted")
        rest.put("/paused/resume")
        rest.put("/stopped/resume")
        self.write(NEW, "under ours")
        rest.create(NEW, source(self.file(NEW), self.topic(NEW)))
        self.wait_until_read(rest, "paused", "stopped", NEW)
        rest.put(f"/{NEW}/pause")
        rest.put("/running/config", {**source(self.file("running"), self.topic("running")), "batch.size": "500"})
        rest.put("/stopped/stop")
        rest.wait_for_states(
            {"running": "RUNNING", "interop-sink": "RUNNING", "paused": "RUNNING", "stopped": "STOPPED", NEW: "PAUSED"}
        )
        self.views["ours at the end"] = rest.view()

    def run_java_again(self, rest: Rest) -> None:
        self.views["Java again"] = rest.view_once_it_is(self.views["ours at the end"])
        for name in ("running", "paused", "stopped", NEW):
            self.write(name, "under Java again")
        rest.put("/stopped/resume")
        rest.put(f"/{NEW}/resume")
        self.wait_until_read(rest, "running", "paused", "stopped", NEW)
        self.wait_until_sunk(rest)


def _ascii(name: str) -> str:
    return re.sub("[^a-z]", "", name)


@pytest.fixture(scope="module")
def journey(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Journey:
    folder = tmp_path_factory.mktemp("interop")
    journey = Journey(kafka, folder, "interop")
    ours = our_worker(kafka, journey.group, folder / "ours")
    with java_worker(kafka, journey.group, folder / "java") as java:
        journey.run_java_first(Rest(java.endpoint.url))
    try:
        ours.start(SLOW_S)
        journey.run_ours(Rest(ours.url))
    finally:
        ours.stop()
        journey.logs["ours"] = ours.log_path.read_text()
    with java_worker(kafka, journey.group, folder / "java again") as java:
        journey.run_java_again(Rest(java.endpoint.url))
        java.stop()
        journey.logs["Java again"] = java.log_path.read_text()
    return journey


def test_ours_goes_on_with_all_that_java_left(journey: Journey) -> None:
    assert journey.views["ours"] == journey.views["Java"]


def test_java_goes_on_with_all_that_ours_left(journey: Journey) -> None:
    assert journey.views["Java again"] == journey.views["ours at the end"]


@pytest.mark.parametrize("name", ["running", "paused", "stopped", NEW], ids=_ascii)
def test_each_line_is_in_the_topic_once(journey: Journey, name: str) -> None:
    assert journey.read(name) == journey.written[name]


@pytest.mark.parametrize("name", ["paused", "stopped"])
def test_ours_reads_nothing_for_a_connector_that_java_paused_or_stopped(journey: Journey, name: str) -> None:
    assert journey.read_while_not_running[name] == journey.written[name][:5]


def test_each_line_is_written_once_by_the_sink(journey: Journey) -> None:
    assert journey.sunk() == journey.written["running"]


@pytest.mark.parametrize("name", ["running", "paused", "stopped", NEW], ids=_ascii)
def test_both_store_the_offsets_of_a_file_under_one_key(journey: Journey, name: str) -> None:
    keys = [key for key in keys_in(journey.kafka, f"{journey.group}-offsets") if json.loads(key)[0] == name]
    assert len(keys) > 1
    assert len(set(keys)) == 1, "Java looks offsets up by the bytes of their key"


def test_java_skips_only_the_records_that_are_ours_alone(journey: Journey) -> None:
    errors = [line for line in journey.logs["Java again"].splitlines() if re.search(r"^\[[^]]+\] (ERROR|FATAL) ", line)]
    kinds = {re.sub(r"^\[[^]]+\] ", "", line) for line in errors}
    unknown = re.compile(r"ERROR Discarding config update record with invalid key: (placement|worker|history-config)-")
    assert sorted(kind for kind in kinds if not unknown.match(kind)) == []
    assert kinds, "Java met no record of ours"


def test_ours_understands_every_record_of_java(journey: Journey) -> None:
    assert "record_skipped" not in journey.logs["ours"]


@pytest.fixture
def ours(kafka: KafkaEndpoint, unique: str, tmp_path: Path) -> Iterator[WorkerProcess]:
    worker = our_worker(kafka, unique, tmp_path / "ours")
    yield worker
    worker.stop()


@pytest.fixture
def java(kafka: KafkaEndpoint, unique: str, tmp_path: Path) -> Iterator[JavaConnectService]:
    service = java_worker(kafka, unique, tmp_path / "java")
    yield service
    service.close()


@pytest.mark.chaos
def test_a_java_worker_gives_up_while_ours_runs_the_group(
    kafka: KafkaEndpoint, ours: WorkerProcess, java: JavaConnectService, tmp_path: Path, unique: str
) -> None:
    ours.start(SLOW_S)
    append(tmp_path / "lines.txt", ["before"])
    ours.create("lines", source(tmp_path / "lines.txt", unique))
    ours.wait_for_tasks("lines", "RUNNING", SLOW_S)

    with ThreadPoolExecutor(1) as starting:
        start = starting.submit(java.start, 3 * SLOW_S)
        log = tmp_path / "java" / "java-connect.log"
        wait_for(lambda: log.exists() and GIVES_UP.search(log.read_text()), SLOW_S, "Java's refusal")
        assert java.pid is not None
        os.kill(java.pid, signal.SIGKILL)  # its end waits most of a minute for the very thread that ends it
        with pytest.raises(ServiceStartError, match="java-connect ended while it started"):
            start.result()

    append(tmp_path / "lines.txt", ["after"])
    wait_for_lines(kafka, unique, 2)


@pytest.mark.chaos
def test_ours_waits_and_says_why_while_java_runs_the_group(ours: WorkerProcess, java: JavaConnectService) -> None:
    java.start(SLOW_S)
    argv = [sys.executable, "-m", "connect.cli", "worker", str(ours._file)]
    process = SupervisedProcess(Command(argv, ours._folder, ours.log_path))
    try:
        wait_for(lambda: "Stop the Java workers of this group.id first" in ours.log_path.read_text(), SLOW_S, "refusal")
        assert not ours.healthy()
        java.stop()
        wait_for(ours.healthy, SLOW_S, "health of ours once Java is gone")
    finally:
        process.stop(15.0)
