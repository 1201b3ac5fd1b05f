"""The tutorial that `connect init connector` writes, its commands run as they stand: from a folder to rows in Kafka."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services import KafkaEndpoint

SH = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOOLS = {"connect": "connect.cli", "pytest": "pytest", "pip": "pip"}


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    """A Python environment of its own that has what this one has, and into which pip installs without a network."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True, timeout=60)
    here = sysconfig.get_path("purelib")
    there = sysconfig.get_path("purelib", vars={"base": str(venv), "platbase": str(venv)})
    Path(there, "shared.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    for name, module in TOOLS.items():
        script = venv / "bin" / name
        script.write_text(f'#!/bin/sh\nexec {venv}/bin/python -m {module} "$@"\n')
        script.chmod(0o755)
    offline = {"PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1", "PIP_QUIET": "1"}
    return {**os.environ, **offline, "PATH": f"{venv}/bin{os.pathsep}{os.environ['PATH']}"}


def sh(commands: str, folder: Path, environ: Mapping[str, str]) -> str:
    """What the commands print; the test fails with all of it where one of them fails."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{commands}\n{done.stdout}"
    return done.stdout


@pytest.fixture
def worker(kafka: KafkaEndpoint, unique: str, tmp_path: Path, environ: Mapping[str, str]) -> Iterator[WorkerProcess]:
    """In place of `connect dev`: a worker of the new environment, not started; its Kafka is that of the tests."""
    made = WorkerProcess(tmp_path / "worker", kafka.bootstrap_servers, unique)
    processes: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        with made.log_path.open("ab") as log:
            command = ["connect", "worker", str(tmp_path / "worker/worker.properties")]
            processes.append(subprocess.Popen(command, env=dict(environ), stdout=log, stderr=log))
        wait_for(made.healthy, 60.0, f"health of the worker, see {made.log_path}")

    made.start = start  # type: ignore[method-assign]
    yield made
    for process in processes:
        process.send_signal(signal.SIGTERM)
        process.wait(30.0)


def begun(kind: str, name: str, folder: Path, environ: Mapping[str, str]) -> tuple[Path, list[str]]:
    """The project's folder and the commands of its tutorial, the first two steps of which are done."""
    sh(f"connect init connector {name} --kind {kind}", folder, environ)
    project = folder / name
    install, find, run = SH.findall((project / "README.md").read_text(encoding="utf-8"))
    assert re.search(r"\d\d passed", sh(install, project, environ))
    assert f"`{name}.{name.capitalize()}{kind.capitalize()}Connector`; version 0.1.0" in sh(find, project, environ)
    return project, [run]


def first_value(kafka: KafkaEndpoint, topic: str) -> object:
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": f"{topic}-reader"}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])

    def read() -> bytes | None:
        message = consumer.poll(1.0)
        return None if message is None or message.error() else message.value()

    try:
        return json.loads(wait_for(read, 60.0, "the row in Kafka"))
    finally:
        consumer.close()


def test_the_tutorial_of_a_source(
    kafka: KafkaEndpoint, unique: str, tmp_path: Path, environ: Mapping[str, str], worker: WorkerProcess
) -> None:
    project, (run,) = begun("source", unique, tmp_path, environ)
    worker.start()
    try:
        sh(run, project, {**environ, "CONNECT_URL": worker.url})
        assert first_value(kafka, unique) == {"id": 1, "text": "the first row"}
        line = '{"id": 1, "text": "the first row"}\n'
        shown = f'"byte": {len(line)}'
        wait_for(
            lambda: shown in json.dumps(worker.call("GET", unique, "/offsets").json()), 60.0, "the offset behind it"
        )
    finally:
        Path(f"/tmp/{unique}.jsonl").unlink(missing_ok=True)


def test_the_tutorial_of_a_sink(
    kafka: KafkaEndpoint, unique: str, tmp_path: Path, environ: Mapping[str, str], worker: WorkerProcess
) -> None:
    project, (run,) = begun("sink", unique, tmp_path, environ)
    worker.start()
    file = Path(f"/tmp/{unique}/0.jsonl")
    try:
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        producer.produce(unique, b'{"id": 7}')
        producer.flush(30.0)
        sh(run, project, {**environ, "CONNECT_URL": worker.url})
        wait_for(lambda: file.is_file() and file.read_text() == '{"id": 7}\n', 60.0, f"the row in {file}")
    finally:
        file.unlink(missing_ok=True)
        if file.parent.exists():
            file.parent.rmdir()
