"""Forks processes off a worker, as its fork server does: real ones, from an interpreter like a worker's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from cluster_fakes import eventually

from connect.cluster.hosts.fork_seed import fork_seed
from connect.plugins.catalog import Catalog

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="hosts are forked on Linux only"),
]

WORKER = """
import json, os, socket, sys, threading
from connect.cluster.hosts.fork_seed import fork_seed
from connect.plugins.catalog import Catalog
from connect.worker.app import Worker
catalog = Catalog.installed()
"""
"""Loads what a worker has loaded when it forks."""

HOST = """
from connect.cluster.hosts.forked_host import ForkedHosts
from connect.cluster.hosts.lease import Lease
from connect.cluster.hosts.life_line import LifeLine
from connect.cluster.hosts.shared_memory import shared_memory
from connect.lib.deadline import Deadline
from connect.runtime.host.crash_report import REPORT_BYTES
lease = Lease(60.0)
lease.hold()
hosts = ForkedHosts(lease.descriptor, LifeLine().held, seed)
ours, theirs = socket.socketpair()
host = hosts.start(theirs, shared_memory("crash-report", REPORT_BYTES))
deadline = Deadline.after(60)
while not host.pid and deadline.wait(0.01):
    pass
theirs.close()
"""
"""Starts a host through the seed."""


def said(program: str, folder: Path) -> Any:
    """What a program prints, as JSON."""
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False, cwd=folder, env=environ, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_first_server_is_the_seed_and_has_the_workers_modules(tmp_path: Path) -> None:
    tell = """
command = open(f"/proc/{seed.pid}/cmdline").read().strip(chr(0))
print(json.dumps([host.pid > 0, hosts.server_pid == seed.pid, command, os.getpgid(seed.pid) == seed.pid]))
"""
    found = said(f"{WORKER}\nseed = fork_seed(catalog)\n{HOST}\n{tell}", tmp_path)
    assert found == [True, True, "connect.cluster.hosts.fork_server", True]


def test_little_is_left_to_load_for_the_first_host(tmp_path: Path) -> None:
    count = """
from connect.cluster.hosts import fork_server
before = set(sys.modules)
fork_server.load_shared()
ours = lambda names: sum(name.split(".")[0] in {"connect", "connectors"} for name in names)
print(json.dumps([ours(before), ours(set(sys.modules) - before)]))
"""
    shared, own = said(f"{WORKER}\n{count}", tmp_path)
    assert own < shared / 3  # without the worker's modules it is more than they are


def test_hosts_share_the_declarations_of_settings_that_each_of_them_uses(tmp_path: Path) -> None:
    """A worker builds its own after it has forked: before it reads its file it needs none of them."""
    built = """
from connect.cluster.hosts.fork_server import ForkServer
from connect.runtime.host.shared_settings import shared
names = lambda: [one.__name__ for one in shared(catalog) if one.__pydantic_complete__]
before = names()
ForkServer(socket.socketpair()[0], 0, lambda: catalog)._load()
print(json.dumps([len(before), names()]))
"""
    before, after = said(f"{WORKER}\n{built}", tmp_path)
    assert before < len(after) == 6
    assert {"WorkerConfig", "SourceConnectorConfig", "SinkConnectorConfig"} <= set(after)


def test_a_program_takes_the_place_of_a_seed_that_was_killed(tmp_path: Path) -> None:
    kill = "os.kill(seed.pid, 9); os.waitid(os.P_PID, seed.pid, os.WEXITED | os.WNOWAIT)"
    tell = """
server = hosts.server_pid
print(json.dumps([host.pid > 0, server != seed.pid, "-m" in open(f"/proc/{server}/cmdline").read().split(chr(0))]))
"""
    found = said(f"{WORKER}\nseed = fork_seed(catalog)\n{kill}\n{HOST}\n{tell}", tmp_path)
    assert found == [True, True, True]


def test_a_process_with_two_threads_is_not_forked(tmp_path: Path) -> None:
    found = said(
        f"{WORKER}\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "print(json.dumps(fork_seed(catalog) is None))",
        tmp_path,
    )
    assert found is True


def test_a_machine_without_room_for_a_process_has_no_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("connect.cluster.hosts.fork_seed._is_alone", lambda: True)
    monkeypatch.setattr("os.fork", refuse)
    assert fork_seed(Catalog([])) is None


def test_the_hosts_of_a_seed_log_as_the_worker_was_told(tmp_path: Path) -> None:
    told = """
from connect.cluster.hosts import fork_seed
seen = []
names = ("CONNECT_LOG_FORMAT", "CONNECT_LOG_LEVEL")
fork_seed.fork_seed = lambda catalog: seen.append([os.environ.get(name) for name in names])
from connect.cli.worker import worker
try:
    worker(["nowhere.properties", "--log-format", "json", "--log-level", "WARNING"])
except SystemExit:
    print(json.dumps(seen))
"""
    assert said(f"{WORKER}\n{told}", tmp_path) == [["json", "WARNING"]]


MEMBER = """
from dataclasses import asdict
from connect.cluster.group.member_process import Joining
from connect.cluster.group.remote_member import MemberProcesses, fork_member
from connect.cluster.hosts.lease import Lease
from connect.cluster.hosts.life_line import LifeLine
from connect.telemetry.log_levels import LOG_LEVELS
member_seed, seed = fork_member(), fork_seed(catalog)
lease, life_line = Lease(60.0), LifeLine()
members = MemberProcesses(lease.descriptor, life_line.watched, LOG_LEVELS, member_seed)
members.prepare()
first = members._ready
"""
"""Makes a worker's member in the group of its seed."""


def test_the_first_member_is_a_fork_and_the_next_one_a_program(tmp_path: Path) -> None:
    tell = """
members._ready = None
members.prepare()
second = members._ready
name = lambda pid: open(f"/proc/{pid}/cmdline").read().replace(chr(0), " ").strip()
print(json.dumps([first.child.pid == member_seed.pid, name(member_seed.pid), "-m" in second.child.args]))
"""
    found = said(f"{WORKER}\n{MEMBER}\n{tell}", tmp_path)
    assert found == [True, "connect.cluster.group.member_process", True]


def test_no_seed_holds_what_another_one_waits_for_and_a_member_that_did_not_join_ends_with_its_worker(
    tmp_path: Path,
) -> None:
    tell = """
from connect.lib.deadline import Deadline
def held(pid):
    return {os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")}
ends = {os.readlink(f"/proc/self/fd/{end.fileno()}") for end in (seed._line, first.line)}
deadline = Deadline.after(20)
# They close what they inherit when they run for the first time.
while (both := ends & (held(member_seed.pid) | held(seed.pid))) and deadline.wait(0.01):
    pass
print(json.dumps([member_seed.pid, len(ends), list(both)]))
"""
    pid, ends, both = said(f"{WORKER}\n{MEMBER}\n{tell}", tmp_path)
    assert (ends, both) == (2, [])
    eventually(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def test_a_seed_ends_with_its_worker(tmp_path: Path) -> None:
    pid = said(f"{WORKER}\nprint(json.dumps(fork_seed(catalog).pid))", tmp_path)
    eventually(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def test_a_host_of_a_seed_loads_nothing_from_the_folder_of_its_worker(tmp_path: Path) -> None:
    """A worker that runs as `python -m` has its working folder in its search path, where a connector may write."""
    sprung = tmp_path / "sprung"
    write = f"""
from pathlib import Path
for name in ("pyarrow", "orjson", "connect", "confluent_kafka"):
    Path(f"{{name}}.py").write_text("open({str(sprung)!r}, 'a').write(__name__ + ' ')")
"""
    arrow = """
print(json.dumps(["" in sys.path, "libarrow" in open(f"/proc/{host.pid}/maps").read()]))
"""
    found = said(f"{WORKER}\nseed = fork_seed(catalog)\n{write}\n{HOST}\n{arrow}", tmp_path)
    assert found == [True, True]
    assert not sprung.exists()
