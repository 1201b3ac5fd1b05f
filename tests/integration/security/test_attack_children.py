"""A file that somebody wrote into a worker's folder is never run by a process that the worker starts."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from e2e_worker import WorkerProcess, wait_for

from connect.api.errors import ConfigError, RejectedRowsError
from connect.api.plugin import PluginKind
from connect.backfill.child import BackfillChildren
from connect.backfill.engines.local import LocalEngine
from connect.cluster.hosts.forked_host import ForkedHosts
from connect.cluster.hosts.host_process import CommandProcess, python_host
from connect.cluster.hosts.lease import Lease
from connect.cluster.hosts.life_line import LifeLine
from connect.convert.protobuf.compile import compile_proto
from connect.plugins.catalog import Catalog
from connect.poc.sandbox.children import asked_of
from connect.rest.jobs.evaluation_jobs import EvaluationJobs
from connect.runtime.parts.connector_settings import ConnectorSettings
from connect.tools.services import KafkaEndpoint, RegistryEndpoint

NAMES = ("connect", "grpc_tools", "multiprocessing", "socket", "json", "pyspark", "sitecustomize")
SPRUNG = "sprung"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with modules that leave a file when they are loaded."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / SPRUNG)!r}, 'a').write({name!r} + ' ')\n")
    monkeypatch.chdir(tmp_path)
    # Shells and images often leave an empty entry, which stands for the folder that a program runs in.
    monkeypatch.setenv("PYTHONPATH", f":{os.environ.get('PYTHONPATH', '')}")
    return tmp_path


def sprung(folder: Path) -> str:
    file = folder / SPRUNG
    return file.read_text() if file.exists() else ""


def test_the_server_that_makes_task_hosts(folder: Path) -> None:
    lease, life_line = Lease(60.0), LifeLine()
    hosts = ForkedHosts(lease.descriptor, life_line.held)
    line, theirs = socket.socketpair()
    try:
        environ, arrow = (Path(f"/proc/{hosts.server_pid}/{name}") for name in ("environ", "maps"))
        wait_for(lambda: b"PYTHONSAFEPATH=1" in environ.read_bytes(), 10, "the environment of the server")
        with Path(os.devnull).open("wb") as report:
            hosts.start(theirs, report.fileno())
        wait_for(lambda: "pyarrow" in arrow.read_text(), 60, "the server loads Arrow")
    finally:
        hosts.close()
        lease.close()
        line.close()
        theirs.close()
    assert sprung(folder) == ""


def test_a_task_host_as_a_program(folder: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        host = CommandProcess(theirs, lambda fd: [*python_host(fd, fd, fd)[:-6], "--help"])
        assert host.wait(60) == "ended with exit code 0"
    assert sprung(folder) == ""


def test_the_process_that_calls_a_plugin_for_an_evaluation(folder: Path) -> None:
    settings = ConnectorSettings({"bootstrap.servers": "127.0.0.1:1"}, {"name": "c", "connector.class": "none"})
    answer = asked_of(settings, "examine", 60)
    assert "group.id" in answer["error"]
    assert sprung(folder) == ""


def test_the_process_of_an_evaluation_that_rest_asks_for(folder: Path) -> None:
    jobs = EvaluationJobs({})
    try:
        job = jobs.start([{"name": "c", "config": {"connector.class": "none"}}], {})
        answer = wait_for(lambda: job.answer, 60, "the evaluation's answer")
    finally:
        jobs.close()
    assert "none" in answer["error"]
    assert sprung(folder) == ""


def test_the_processes_of_a_backfill(folder: Path) -> None:
    children = BackfillChildren({"bootstrap.servers": "127.0.0.1:1"})
    try:
        spec = {"apiVersion": "backfill/v1", "name": "x", "source": {"connector": "c"}}
        with pytest.raises(ConfigError, match=r"group\.id"):
            children.answer("verify", spec, 60)
    finally:
        children.close()
    assert sprung(folder) == ""


def test_the_lanes_of_a_backfill(folder: Path) -> None:
    engine = LocalEngine(1, 0, run=_answers)
    try:
        engine._running = [engine._start()]
        engine._running[0].lanes.send("a lane")
        assert engine._running[0].lanes.poll(60)
    finally:
        engine.close()
    assert sprung(folder) == ""


def _answers(lane: Any) -> Any:
    return lane


def test_the_compiler_of_protobuf_schemas(folder: Path) -> None:
    schema = compile_proto('syntax = "proto3"; message T { int32 n = 1; }')
    assert schema is not None
    assert sprung(folder) == ""


def test_a_schema_of_a_registry_that_is_a_python_module_too(
    registry: RegistryEndpoint, tmp_path: Path, unique: str
) -> None:
    """A text that is valid Protobuf and valid Python, referred to as `grpc_tools.py`: the registry takes it."""
    mark = tmp_path / SPRUNG
    module = f'''syntax = "proto3" // open({str(mark)!r}, "w") ; """
; message T {{ int32 n = 1; }} // """
'''
    client = SchemaRegistryClient({"url": registry.url})
    client.register_schema(f"{unique}-module", Schema(module, "PROTOBUF"))
    text = 'syntax = "proto3"; import "grpc_tools.py"; message Row { T t = 1; }'
    reference = SchemaReference("grpc_tools.py", f"{unique}-module", 1)
    number = client.register_schema(f"{unique}-value", Schema(text, "PROTOBUF", [reference]))
    plugin = Catalog.installed().find("io.confluent.connect.protobuf.ProtobufConverter", PluginKind.CONVERTER)
    assert plugin is not None
    converter = Catalog.load(plugin)(plugin.config.parse({"schema.registry.url": registry.url}), is_key=False)
    row = b"\x00" + number.to_bytes(4, "big") + b"\x00"
    with pytest.raises(RejectedRowsError, match=r"no relative path of a \.proto file: 'grpc_tools\.py'"):
        converter.decode(unique, pa.array([row], pa.binary()))
    assert not mark.exists()


def test_a_sink_that_writes_a_module_into_the_workers_folder(kafka: KafkaEndpoint, tmp_path: Path, unique: str) -> None:
    """The attack as a whole: a record becomes `connect.py`, and the worker then has to start new processes."""
    code = f"open({str(tmp_path / SPRUNG)!r}, 'w').write('connect')"
    (tmp_path / "source.txt").write_text(f"{code}\n")
    worker = WorkerProcess(
        tmp_path, kafka.bootstrap_servers, unique,
        **{"file.stream.paths": str(tmp_path), "value.converter": "org.apache.kafka.connect.storage.StringConverter"},
    )  # fmt: skip
    worker.start()
    try:
        source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "source.txt"), "topic": unique}
        sink = {"connector.class": "FileStreamSink", "file": str(tmp_path / "connect.py"), "topics": unique}
        for name, config in (("source", source), ("sink", sink)):
            assert worker.create(name, config).status_code == 201
        written = tmp_path / "connect.py"
        wait_for(lambda: written.exists() and code in written.read_text(), 60, "the module is written")
        server = next(child for child in psutil.Process(worker.pid).children() if child.children())
        server.kill()
        with (tmp_path / "source.txt").open("a") as lines:
            lines.write("# after\n")
        wait_for(lambda: sprung(tmp_path) or "# after" in written.read_text(), 60, "new hosts go on")
    finally:
        worker.stop()
    assert sprung(tmp_path) == ""
