"""Runs two workers on real Kafka: the work is shared, moves when one is lost, and never runs twice."""

import signal
import time

import psutil
import pytest
from cluster_worker import eventually
from presence import assert_never_two_at_once, create, spread


@pytest.fixture
def presence(tmp_path):
    folder = tmp_path / "presence"
    folder.mkdir()
    return folder


@pytest.fixture
def pair(start_worker):
    first, second = start_worker(), start_worker()
    return first.ready(), second.ready()


def test_work_is_shared_and_any_worker_answers(pair, presence):
    first, second = pair
    create(second, presence)
    eventually(lambda: sorted(spread(first).values()) == [2, 2])
    assert second.get("/connectors/c/status") == first.get("/connectors/c/status")
    for worker in pair:
        for task in range(4):
            assert worker.call("POST", f"/connectors/c/tasks/{task}/restart").status_code == 204
        eventually(lambda worker=worker: sorted(spread(worker).values()) == [2, 2])
    assert first.call("DELETE", "/connectors/c").status_code == 204
    eventually(lambda: second.get("/connectors") == [])
    assert_never_two_at_once(presence)


def test_a_killed_workers_tasks_move_to_the_other(pair, presence):
    first, second = pair
    create(first, presence)
    eventually(lambda: len(spread(first)) == 2)
    killed_s = time.monotonic()
    second.process.kill()
    survivor = first.url.removeprefix("http://")
    eventually(lambda: spread(first) == {survivor: 4})
    print(f"moved in {time.monotonic() - killed_s:.1f} s")  # noqa: T201 - a figure for the report
    assert_never_two_at_once(presence)


def test_a_killed_leader_is_followed_by_another_that_takes_requests(pair, presence):
    first, _ = pair
    create(first, presence)
    eventually(lambda: len(spread(first)) == 2)
    leader, other = leader_and_other(pair)
    leader.process.kill()
    eventually(lambda: other.call("PUT", "/connectors/c/config", config_of(other)).status_code == 200)
    eventually(lambda: spread(other) == {other.url.removeprefix("http://"): 4})


def leader_and_other(pair):
    first, second = pair
    leads = '"leads": true' in second.log.read_text() or "leads=True" in second.log.read_text()
    return (second, first) if leads else (first, second)


def config_of(worker):
    return {**worker.get("/connectors/c/config"), "pause.ms": "60"}


@pytest.mark.parametrize("leads", [True, pytest.param(False, marks=pytest.mark.chaos)], ids=["leader", "follower"])
def test_a_frozen_worker_is_fenced_before_its_tasks_run_elsewhere(pair, presence, leads):
    leader, other = leader_and_other(pair)
    first, second = (other, leader) if leads else (leader, other)
    create(first, presence)
    eventually(lambda: len(spread(first)) == 2)
    hosts = second.hosts()
    second.process.send_signal(signal.SIGSTOP)
    eventually(lambda: spread(first) == {first.url.removeprefix("http://"): 4})
    assert all(not p.is_running() or p.status() == psutil.STATUS_ZOMBIE for p in hosts)
    eventually(lambda: first.call("PUT", "/connectors/c/config", config_of(first)).status_code == 200)
    second.process.send_signal(signal.SIGCONT)
    eventually(lambda: sorted(spread(first).values()) == [2, 2])
    eventually(lambda: sorted(spread(second).values()) == [2, 2])
    # What the frozen worker has to say of the tasks that it lost is not taken for the state of those that run.
    assert "FAILED" not in {change["state"] for change in first.get("/connectors/c/history")["states"]}
    assert_never_two_at_once(presence)


def test_a_leaving_worker_hands_over_at_once_and_a_new_one_gets_its_share(pair, presence, start_worker):
    first, second = pair
    create(first, presence)
    eventually(lambda: len(spread(first)) == 2)
    assert second.stop() == 0
    eventually(lambda: spread(first) == {first.url.removeprefix("http://"): 4})
    third = start_worker().ready()
    eventually(lambda: sorted(spread(third).values()) == [2, 2])
    assert_never_two_at_once(presence)
