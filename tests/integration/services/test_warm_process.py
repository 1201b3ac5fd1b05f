"""Checks that workers which tests fork from a warm process are like those that a person starts by command."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import warm_process
from e2e_worker import WorkerProcess

from connect.tools.services import KafkaEndpoint
from connect.tools.services.process.polling import poll_until

UNREACHABLE = (
    "bootstrap.servers: 127.0.0.1:1\ngroup.id: g\nlisteners: http://127.0.0.1:0\nconfig.storage.topic: a\n"
    "offset.storage.topic: b\nstatus.storage.topic: c\nkey.converter: JsonConverter\nvalue.converter: JsonConverter\n"
)
PROVIDER = (
    "config.providers: env\nconfig.providers.env.class: org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
)


def start(folder: Path, *arguments: str, **environ: str) -> warm_process.WarmProcess:
    with (folder / "out").open("ab") as out, (folder / "err").open("ab") as err:
        return warm_process.start(
            list(arguments), folder=folder, environ={**os.environ, **environ}, stdout=out.fileno(), stderr=err.fileno()
        )


def test_a_command_has_folder_environment_outputs_and_exit_code_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "worker.yaml").write_text(UNREACHABLE + PROVIDER + "start.timeout.ms: ${env:HOW_LONG}\n")
    failed = start(tmp_path, "worker", "worker.yaml", HOW_LONG="not-a-number")
    assert failed.wait(30) == 1
    assert failed.poll() == 1
    assert "start.timeout.ms" in (tmp_path / "err").read_text()
    helped = start(tmp_path, "worker", "--help")
    assert helped.wait(30) == 0
    assert "Usage: connect worker" in (tmp_path / "out").read_text()


def test_a_command_is_asked_to_end_or_killed(tmp_path: Path) -> None:
    (tmp_path / "worker.yaml").write_text(UNREACHABLE)
    for number, code in ((signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)):
        (tmp_path / "err").unlink(missing_ok=True)
        running = start(tmp_path, "worker", "worker.yaml")
        poll_until(lambda: "waiting_for_kafka" in (tmp_path / "err").read_text(), deadline_s=30, waiting_for="", fix="")
        assert running.poll() is None
        assert psutil.Process(running.pid).is_running()
        running.send_signal(number)
        assert running.wait(30) == code


def test_commands_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    (tmp_path / "worker.yaml").write_text(UNREACHABLE)
    program = (
        "import signal, sys, os, warm_process\nfrom pathlib import Path\n"
        "started = warm_process.start(['worker', 'worker.yaml'], folder=Path(sys.argv[1]), environ=os.environ, "
        "stdout=2, stderr=2)\nprint(started.pid, flush=True)\nsignal.pause()\n"
    )
    tests = Path(warm_process.__file__).parent
    with (tmp_path / "err").open("ab") as err:
        owner = subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, stderr=err, text=True,
            env={**os.environ, "PYTHONPATH": str(tests)},
        )  # fmt: skip
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    assert psutil.pid_exists(pid)
    owner.kill()
    owner.wait()
    owner.stdout.close()
    poll_until(lambda: not psutil.pid_exists(pid), deadline_s=20, waiting_for="the worker to end", fix="")


def test_a_workers_first_fork_server_is_warm_and_the_next_one_is_a_program(
    kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    worker = WorkerProcess(tmp_path, kafka.bootstrap_servers, unique)
    worker.start()
    try:
        children = psutil.Process(worker.pid).children()
        (first,) = (child for child in children if "connect.cluster.hosts.fork_server" in child.cmdline())
        assert any("libarrow" in mapped.path for mapped in first.memory_maps())
        first.kill()
        (tmp_path / "lines").write_text("one\n")
        source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "lines"), "topic": unique}
        assert worker.create("source", source).status_code == 201
        worker.wait_for_tasks("source", "RUNNING")
        second = next(child for child in psutil.Process(worker.pid).children() if child.children())
        assert second.cmdline()[-5:-3] == ["-m", "connect.cluster.hosts.fork_server"]
    finally:
        worker.stop()
