"""Two herders over one set of topics in memory, and a group that a test deals slots from."""

import threading
import time
from concurrent.futures import wait

import pytest
from captured_logs import capture_logs
from cluster_fakes import eventually
from dealt_cluster import Member, create, workers

from connect.cluster.hosts.lease import LEASE_OVER, Lease
from connect.cluster.leader.group_membership import GroupMembership
from connect.cluster.loop import stopping_tasks
from connect.cluster.model.config_records import WorkerRecord
from connect.cluster.model.config_state import Claims
from connect.cluster.model.connector_values import PartitionOffset, TargetState
from connect.cluster.model.request_errors import NotLeaderError
from connect.lib.deadline import Deadline
from connect.runtime.task.messages import StartTask, StopTask, TaskState
from connect.runtime.task.state import State


def test_who_owns_slot_0_leads_and_the_others_know_its_url(pair):
    first, second = pair
    first.worker.require_leader()
    with pytest.raises(NotLeaderError) as refused:
        second.connectors.create("c", {}, None).result(60)
    assert refused.value.leader_url == "http://a:1"


def test_a_place_in_the_group_rests_on_claims_alone():
    """It looks at each record of the config topic: a snapshot of 5,000 connectors for each of them costs minutes."""

    class Configs:
        claims = Claims(0, {})

        def put(self, record):
            self.claims = Claims(self.claims.next_offset + 1, {**self.claims.workers, record.worker_id: record})

    members = []

    def join(worker_id, listener):
        members.append(Member(listener))
        return members[0]

    configs = Configs()
    membership = GroupMembership(configs, join, Lease(5), 2)
    membership.start("http://a:1", "a:1", None)
    eventually(lambda: members)
    members[0].events.put(("assigned", {0, 1}))
    eventually(lambda: membership.view.leads)
    configs.put(WorkerRecord("b:1", "http://b:1", (2,)))
    membership.config_changed()
    assert membership.view.owners == {0: "a:1", 1: "a:1", 2: "b:1"}
    membership.close(Deadline.after(60))


def test_before_any_slot_is_dealt_nobody_leads(cluster):
    herder = cluster.start("a")
    assert not herder.worker.started
    with pytest.raises(NotLeaderError) as refused:
        herder.connectors.create("c", {}, None).result(60)
    assert refused.value.leader_url is None


def test_a_member_without_slots_answers_and_knows_the_leader(cluster):
    first, second = cluster.start("a"), cluster.start("b")
    cluster.deal("a", "assigned", {0, 1, 2})
    assert not second.worker.started
    cluster.deal("b", "assigned", set())
    eventually(
        lambda: second.worker.started and second.worker.view.leader_url == first.worker.view.leader_url is not None
    )


def test_a_worker_answers_while_the_group_waits_for_its_former_life(cluster):
    cluster.start("a")
    cluster.deal("a", "assigned", {0})
    eventually(lambda: cluster.herders["a"].worker.view.leads)
    again = cluster.start("a")
    assert not again.worker.started
    assert not again.wait_until_joined(Deadline.after(0.05))
    assert again.worker.started
    assert again.worker.view.leader_url is None  # requests wait for a leader, and are not sent to itself


def test_tasks_run_where_their_slots_are(pair):
    first, second = pair
    create(first)
    eventually(lambda: workers(second) == ["a:1", "a:1", "b:1", "b:1"])


def test_offsets_are_set_when_another_workers_tasks_must_have_ended(pair, monkeypatch):
    class Clock:
        now_s = time.monotonic()

        def monotonic(self):
            return self.now_s

    clock = Clock()
    monkeypatch.setattr(stopping_tasks, "time", clock)
    first, _ = pair
    create(first)
    eventually(lambda: len(workers(first)) == 4)
    first.connectors.set_target("c", TargetState.STOPPED).result(60)
    altering = first.offsets.alter("c", [PartitionOffset({"file": "a"}, {"position": 7})])
    assert not wait([altering], timeout=0.3).done
    clock.now_s += 60
    assert altering.result(60)


def test_a_restart_of_anothers_task_is_sent_to_its_worker(pair):
    first, second = pair
    create(first)
    eventually(lambda: len(workers(second)) == 4)
    there = next(n for n, status in first.connectors.status("c").tasks.items() if status.worker_id == "b:1")
    task = next(t for t in first.connectors.info("c").tasks if t.task == there)
    with pytest.raises(NotLeaderError) as refused:
        first.tasks.restart(task).result(60)
    assert refused.value.leader_url == "http://b:1"
    second.tasks.restart(task).result(60)


def test_revoked_slots_are_kept_until_the_last_of_their_tasks_has_stopped(cluster, pair):
    first, second = pair
    create(first)
    eventually(lambda: len(workers(second)) == 4)
    cluster.world.silent_on = {StopTask}
    cluster.deal("b", "revoked", {3, 4, 5})
    eventually(lambda: len(stopping(cluster.world)) == 2)
    for left in (2, 1):
        second.worker.ping().result(60)
        eventually(lambda left=left: len([s for s in workers(first) if s == "b:1"]) == left)
        assert "revoked" not in cluster.members["b"].told
        host, message = stopping(cluster.world)[left - 1]
        host.say(TaskState(message.connector, message.task, message.run, None))
    eventually(lambda: "revoked" in cluster.members["b"].told)


def stopping(world):
    return [(host, m) for host in world.hosts for m in host.heard if isinstance(m, StopTask)]


@pytest.mark.thorough
def test_revoked_slots_are_let_go_only_when_their_tasks_have_stopped(cluster, pair):
    first, second = pair
    create(first)
    eventually(lambda: len(workers(second)) == 4)
    cluster.world.silent_on = {StopTask}
    cluster.deal("b", "revoked", {3, 4, 5})
    eventually(lambda: [m for h in cluster.world.hosts for m in h.heard if isinstance(m, StopTask)])
    cluster.world.silent_on = set()
    # The hosts are killed in the end, and only then another worker claims the slots.
    eventually(lambda: [h for h in cluster.world.hosts if h.killed])
    cluster.deal("a", "assigned", {3, 4, 5})
    eventually(lambda: workers(first) == ["a:1"] * 4)


@pytest.mark.thorough
def test_slots_go_only_after_their_tasks_were_killed_when_the_herder_is_held_up(cluster, pair):
    first, second = pair
    create(first)
    eventually(lambda: len(workers(second)) == 4)
    held = threading.Event()
    second._parts.loop.post("a step that waits for Kafka", lambda: held.wait(30))
    cluster.deal("b", "revoked", {3, 4, 5})
    eventually(lambda: [h for h in cluster.world.hosts if h.killed and "slots go to another" in h.killed])
    held.set()


def test_a_worker_that_lost_its_slots_ends_all_its_hosts_at_once(cluster, pair):
    first, second = pair
    create(first)
    eventually(lambda: len(workers(second)) == 4)
    before = {h for h in cluster.world.hosts if h.killed is None}
    cluster.deal("b", "lost", {3, 4, 5})
    eventually(lambda: [h for h in before if h.killed and "put out of the group" in h.killed])
    cluster.deal("a", "assigned", {3, 4, 5})
    eventually(lambda: workers(first) == ["a:1"] * 4)


def test_a_worker_that_reads_anothers_claim_on_its_slots_gives_them_up(cluster, pair):
    first, second = pair
    create(first)
    eventually(lambda: len(workers(second)) == 4)
    cluster.deal("b", "assigned", {0, 1, 2})  # the group took them from a frozen worker a
    eventually(lambda: not first.worker.view.slots)
    eventually(lambda: workers(second) == ["b:1"] * 4)
    second.worker.require_leader()
    with pytest.raises(NotLeaderError):
        first.worker.require_leader()


def test_a_new_leader_starts_nothing_twice(cluster, pair):
    first, second = pair
    create(first)
    eventually(lambda: len(workers(second)) == 4)
    starts = len(cluster.world.started())
    cluster.deal("a", "revoked", {0})
    eventually(lambda: not first.worker.view.leads)
    cluster.deal("b", "assigned", {0})
    eventually(lambda: second.worker.view.leads)
    eventually(lambda: second.connectors.status("c").connector.worker_id == "b:1")
    eventually(lambda: len(workers(second)) == 4)
    moved = sum(1 for m in cluster.world.started()[starts:] if isinstance(m, StartTask))
    assert moved <= 2
    assert cluster.world.configs.keys().count("commit-c") == 1


def test_who_leads_and_which_worker_is_lost_is_told_in_one_line_each(cluster, pair):
    first, second = pair
    create(first)
    eventually(lambda: len(workers(second)) == 4)  # the first one has done a leader's work
    with capture_logs() as lines:
        cluster.deal("a", "revoked", {0})
        # Each worker tells its own in its own thread.
        eventually(lambda: any(line["event"] == "leadership_lost" for line in lines))
        cluster.deal("b", "assigned", {0})
        eventually(lambda: any(line["event"] == "leadership_taken" for line in lines))
        cluster.deal("b", "assigned", {1, 2})  # the group took them from a, which is dead
        eventually(lambda: any(line["event"] == "worker_lost" for line in lines))
    told = [line for line in lines if line["event"] in {"leadership_lost", "leadership_taken", "worker_lost"}]
    assert [line["event"] for line in told] == ["leadership_lost", "leadership_taken", "worker_lost"]
    assert "leader" not in told[0], "the next leader has claimed nothing yet"
    assert (told[1]["workers"], told[2]["worker"], told[2]["left"]) == (["a:1", "b:1"], "a:1", 1)
    assert {line["log_level"] for line in told} == {"info"}


def test_brokers_away_for_a_moment_change_nothing(cluster, pair):
    first, second = pair
    create(first)
    eventually(lambda: len(workers(second)) == 4)
    cluster.deal("a", "fail", ())
    cluster.deal("b", "fail", ())
    create_second = first.connectors.create("d", {"connector.class": "Source"}, None).result(60)
    assert create_second.created
    assert len(workers(second)) == 4


def test_a_leaving_worker_leaves_the_group_after_its_tasks_stopped(cluster, pair):
    first, second = pair
    create(first)
    eventually(lambda: len(workers(second)) == 4)
    second.stop(Deadline.after(60))
    assert cluster.members["b"].left
    statuses = {n: s for n, s in first.connectors.status("c").tasks.items() if s.worker_id == "b:1"}
    assert {s.state.value for s in statuses.values()} == {"UNASSIGNED"}


def test_what_ends_with_the_lease_has_not_failed_and_runs_again_once_the_group_has_spoken(cluster, pair):
    first, _ = pair
    create(first)
    eventually(lambda: workers(first) == ["a:1", "a:1", "b:1", "b:1"])
    mine = [n for n, status in first.connectors.status("c").tasks.items() if status.worker_id == "b:1"]
    started = len(cluster.world.started())
    cluster.leases["b"].revoke()
    for host in cluster.world.task_hosts():
        if any(isinstance(m, StartTask) and m.task in mine for m in host.heard):
            host.kill(LEASE_OVER)
    eventually(lambda: {first.connectors.status("c").tasks[n].state for n in mine} == {State.UNASSIGNED})
    assert len(cluster.world.started()) == started
    cluster.deal("b", "assigned", set())
    eventually(lambda: workers(first) == ["a:1", "a:1", "b:1", "b:1"])
    assert len(cluster.world.started()) == started + len(mine)
    assert State.FAILED not in {change.status.state for change in first.history.state_changes("c")}


def test_what_a_worker_says_of_tasks_that_it_lost_is_not_taken_for_their_state(cluster, pair):
    first, second = pair
    create(first)
    eventually(lambda: workers(first) == ["a:1", "a:1", "b:1", "b:1"])
    late = [
        (host, m)
        for host in cluster.world.task_hosts()
        for m in host.heard
        if isinstance(m, StartTask) and first.connectors.status("c").tasks[m.task].worker_id == "b:1"
    ]
    cluster.world.silent_on = {StopTask}
    cluster.deal("b", "revoked", {3, 4, 5})
    eventually(lambda: [m for host, _ in late for m in host.heard if isinstance(m, StopTask)])
    for host, m in late:
        host.say(TaskState(m.connector, m.task, m.run, State.FAILED, "stopped in the middle", retriable=True))
    eventually(lambda: {first.connectors.status("c").tasks[m.task].state for _, m in late} == {State.UNASSIGNED})
    assert State.FAILED not in {change.status.state for change in second.history.state_changes("c")}
