"""The supervision of processes, with Python itself as the command."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from connect.tools.services.process.errors import ServiceStartError, ServiceTimeoutError
from connect.tools.services.process.polling import poll_until
from connect.tools.services.process.process import Command, SupervisedProcess, log_tail, run_to_end

pytestmark = pytest.mark.thorough

WAITS_FOREVER = "print('ready', flush=True); import signal; signal.pause()"
IGNORES_SIGTERM = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {WAITS_FOREVER}"


def test_stop_ends_a_process_that_obeys_without_waiting_for_the_grace_period(tmp_path: Path) -> None:
    process = ready(tmp_path, WAITS_FOREVER)
    process.stop(grace_s=60)
    assert not process.running
    assert not psutil.pid_exists(process.pid)


def test_stop_kills_a_process_that_does_not_obey(tmp_path: Path) -> None:
    process = ready(tmp_path, IGNORES_SIGTERM)
    process.stop(grace_s=0.1)
    assert not psutil.pid_exists(process.pid)


def test_kill_and_stop_may_come_again(tmp_path: Path) -> None:
    process = ready(tmp_path, WAITS_FOREVER)
    for end in (process.kill, process.kill, lambda: process.stop(grace_s=1)):
        end()
    assert not process.running


def test_a_process_that_ends_by_itself_is_not_running(tmp_path: Path) -> None:
    process = SupervisedProcess(python(tmp_path, "print('bye')"))
    eventually(lambda: not process.running)
    process.kill()
    assert process.succeeded
    assert process.log_tail() == "bye"


def test_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    command = Command(["/nowhere/broker"], folder=tmp_path, log_path=tmp_path / "log")
    with pytest.raises(ServiceStartError, match=r"/nowhere/broker cannot be run: .*No such file"):
        SupervisedProcess(command)


def test_run_to_end_tells_success_from_failure(tmp_path: Path) -> None:
    assert run_to_end(python(tmp_path, "exit(0)"), deadline_s=30, doing="nothing")
    assert not run_to_end(python(tmp_path, "exit(3)"), deadline_s=30, doing="nothing")


def test_run_to_end_kills_at_its_deadline(tmp_path: Path) -> None:
    with pytest.raises(ServiceTimeoutError, match="Gave up waiting for a slow format"):
        run_to_end(python(tmp_path, WAITS_FOREVER), deadline_s=0.2, doing="a slow format")


def test_the_process_is_in_a_session_of_its_own_so_that_ctrl_c_does_not_reach_it(tmp_path: Path) -> None:
    process = ready(tmp_path, WAITS_FOREVER)
    try:
        assert os.getsid(process.pid) != os.getsid(0)
        assert os.getpgid(process.pid) == process.pid
    finally:
        process.kill()


def test_the_process_survives_the_thread_that_started_it(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        process = pool.submit(ready, tmp_path, WAITS_FOREVER).result()
    with pytest.raises(ServiceTimeoutError):
        eventually(lambda: not process.running, deadline_s=0.3)
    process.kill()


@pytest.mark.parametrize("owner_also", ["pass", "import os; os.fork()"], ids=["alone", "with-forked-copy-of-the-pipe"])
def test_kill_9_of_the_owner_ends_the_process_and_removes_leftovers(tmp_path: Path, owner_also: str) -> None:
    leftover = tmp_path / "leftover"
    leftover.mkdir()
    owner, pid = start_owner(tmp_path, leftover, owner_also)

    owner.kill()
    owner.wait()

    eventually(lambda: not psutil.pid_exists(pid))
    eventually(lambda: not leftover.exists())
    for copy in psutil.process_iter(["cmdline"]):
        if str(leftover) in " ".join(copy.info["cmdline"] or []):
            copy.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="needs the parent-death signal")
def test_kill_9_of_the_guard_ends_the_process(tmp_path: Path) -> None:
    process = ready(tmp_path, WAITS_FOREVER)
    os.kill(psutil.Process(process.pid).ppid(), signal.SIGKILL)
    eventually(lambda: not psutil.pid_exists(process.pid))
    process.kill()


def test_the_log_tail_is_the_end_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"line {number}\n\tat Some.java\n" for number in range(10_000)))
    assert log_tail(log).splitlines()[-1] == "line 9999"
    assert len(log_tail(log).splitlines()) == 12


def python(folder: Path, program: str) -> Command:
    return Command([sys.executable, "-c", program], folder=folder, log_path=folder / "log")


def ready(folder: Path, program: str) -> SupervisedProcess:
    process = SupervisedProcess(python(folder, program))
    eventually(lambda: "ready" in process.log_tail())
    return process


def start_owner(folder: Path, leftover: Path, owner_also: str) -> "tuple[subprocess.Popen[str], int]":
    program = f"""
import os, signal, sys
from pathlib import Path
from connect.tools.services.process.process import Command, SupervisedProcess
folder, leftover = Path(sys.argv[1]), Path(sys.argv[2])
argv = [sys.executable, "-c", {WAITS_FOREVER!r}]
process = SupervisedProcess(Command(argv, folder=folder, log_path=folder / "log", leftovers=[leftover]))
{owner_also}
# In one piece: a forked copy writes it, too.
os.write(1, f"{{process.pid}}\\n".encode())
signal.pause()
"""
    owner = subprocess.Popen(
        [sys.executable, "-c", program, str(folder), str(leftover)], stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    return owner, int(owner.stdout.readline())


def eventually(condition: Callable[[], bool], deadline_s: float = 10) -> None:
    poll_until(condition, deadline_s=deadline_s, waiting_for="the condition", fix="")
