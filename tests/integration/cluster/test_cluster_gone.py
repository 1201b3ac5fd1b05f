"""Checks that the tasks of a worker whose process is gone run elsewhere at once, before its session in the group ends.

The session is so long here that nothing that happens in these tests can have waited for its end.
"""

import os

import psutil
import pytest
from cluster_worker import eventually
from presence import assert_never_two_at_once, create, spread
from test_cluster_two_workers import config_of, leader_and_other

SESSION_S = 300
WITHIN_S = 60.0


@pytest.fixture
def presence(tmp_path):
    folder = tmp_path / "presence"
    folder.mkdir()
    return folder


@pytest.fixture
def pair(start_worker, presence):
    workers = [start_worker(**{"session.timeout.ms": str(SESSION_S * 1000)}) for _ in range(2)]
    first, second = (worker.ready() for worker in workers)
    create(first, presence)
    eventually(lambda: len(spread(first)) == 2)
    return first, second


def member_of(worker):
    """The process by which a worker is in its group; None while it has none."""
    return next((p for p in worker.children() if "connect.cluster.group.member_process" in command_of(p)), None)


def command_of(process):
    """The words of a process's command; none of one that has ended, also while nobody has taken note of its end."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


@pytest.mark.parametrize("leads", [True, False], ids=["leader", "follower"])
def test_a_killed_workers_tasks_run_elsewhere_long_before_its_session_ends(pair, presence, leads):
    leader, other = leader_and_other(pair)
    killed, left = (leader, other) if leads else (other, leader)
    member = member_of(killed)
    killed.process.kill()
    eventually(lambda: spread(left) == {left.url.removeprefix("http://"): 4}, WITHIN_S)
    assert "group_left_for_worker" in killed.log.read_text()
    assert left.call("PUT", "/connectors/c/config", config_of(left)).status_code == 200
    eventually(lambda: not member.is_running() or member.status() == psutil.STATUS_ZOMBIE)
    assert_never_two_at_once(presence)


def test_a_worker_whose_member_is_killed_gives_up_its_tasks_and_joins_again(pair, presence, start_worker):
    first, second = pair
    hosts = second.hosts()
    member_of(second).kill()
    eventually(lambda: all(not p.is_running() or p.status() == psutil.STATUS_ZOMBIE for p in hosts), WITHIN_S)
    eventually(lambda: "group_not_joined" in second.log.read_text())
    eventually(lambda: member_of(second) is not None)
    gave_up = second.url.removeprefix("http://")
    # The hosts are killed at once; the status topic hears of it when the worker settles.
    eventually(lambda: (gave_up, "RUNNING") not in first.task_workers("c"))
    os.kill(second.pid, 0)  # it lives, and waits until the group has forgotten its former member
    assert_never_two_at_once(presence)
