"""Restarts, pauses, stops, deletes and changes connectors while tasks move: in the end each runs in one place."""

from collections import Counter

import pytest
from stepped_cluster import SteppedCluster

from connect.cluster.herder.task_statuses import TaskStatuses
from connect.cluster.leader.task_placement import SETTLED_S
from connect.cluster.model.config_records import PlacementRecord, RestartRecord
from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.request_errors import NotFoundError, NotLeaderError, RequestError
from connect.runtime.task.state import State
from connect.runtime.task.task_id import TaskId

NAMES = ("c", "d")
STEPS = 150
SETTLE_TURNS = 400
"""Turns of a second each in which a cluster has to come to rest."""
ENOUGH = 10_000
OVERDUE_S = 60
"""The default of `task.overdue.ms`."""


class Churn:
    """A cluster, and what may happen to it next."""

    def __init__(self, seed):
        self.cluster = SteppedCluster(3, seed)
        self.random = self.cluster.random
        self.moving = None
        for number, worker in enumerate(self.cluster.workers[:2]):
            worker.membership.hold(frozenset(range(number * 3, number * 3 + 3)))
        self.rest()
        for name in NAMES:
            self._ask_leader(lambda requests, name=name: requests.create(name, config(4), None, "test"))
        self.rest()

    def step(self):
        """One thing that can happen, drawn."""
        chance = self.random.random()
        if chance < 0.35:
            self._turn()
        elif chance < 0.6:
            self._answer()
        elif chance < 0.8:
            self._read()
        elif chance < 0.87:
            self.cluster.pass_time(self.random.choice((0.1, 1.0, SETTLED_S)))
        elif chance < 0.92:
            self._deal()
        elif chance < 0.94:
            self._fail()
        else:
            self._request()

    def rest(self):
        """Let everything that is under way come to its end."""
        quiet = 0
        for _ in range(SETTLE_TURNS):
            written = len(self.cluster.configs.records), len(self.cluster.statuses.records)
            self.cluster.pass_time(1.0)
            for log in self.cluster.logs():
                log.catch_up()
            for worker in self.cluster.workers:
                worker.loop.turn(ENOUGH)
                for host in worker.talking():
                    while host.heard:
                        host.answer()
                worker.loop.turn(ENOUGH)
            self._hand_over()
            same = written == (len(self.cluster.configs.records), len(self.cluster.statuses.records))
            quiet = quiet + 1 if same else 0
            if quiet > 2 * SETTLED_S and self.moving is None:
                return

    def hand_over(self, giving, taking, slots):
        """The group takes these slots from one worker for another."""
        giving.membership.revoke(slots)
        self.moving = giving, taking, slots, giving.request(lambda: None)

    def leader(self):
        return next((w for w in self.cluster.workers if w.membership.view.leads), None)

    def _turn(self):
        self.random.choice(self.cluster.workers).loop.turn(self.random.choice((1, 1, 2, 3, ENOUGH)))
        self._hand_over()

    def _answer(self):
        talking = [host for worker in self.cluster.workers for host in worker.talking()]
        if talking:
            self.random.choice(talking).answer()

    def _read(self):
        self.random.choice(self.cluster.logs()).catch_up()

    def _fail(self):
        running = [(h, t) for w in self.cluster.workers for h in w.live_hosts() for t in h.runs]
        if running:
            host, task = self.random.choice(running)
            host.fail(task)

    def _deal(self):
        """The group takes slots from one worker for another; it gets them when their tasks have ended."""
        if self.moving is not None:
            return
        giving, taking = self.random.sample(self.cluster.workers, 2)
        held = sorted(giving.membership.held)
        if held:
            self.hand_over(giving, taking, frozenset(self.random.sample(held, self.random.randint(1, len(held)))))

    def _hand_over(self):
        if self.moving is not None:
            giving, taking, slots, heard = self.moving
            if heard.done() and giving.reconciler.tasks.has_released():
                taking.membership.hold(slots)
                self.moving = None

    def _request(self):
        name = self.random.choice(NAMES)
        draw = self.random.randrange(9)
        if draw < 3:
            flags = self.random.choice(((True, False), (True, True), (False, False)))
            self._ask_leader(lambda requests: requests.restart(RestartRecord(name, *flags)))
        elif draw < 5:
            self._restart_task(TaskId(name, self.random.randrange(4)))
        elif draw < 7:
            target = self.random.choice((TargetState.PAUSED, TargetState.STARTED, TargetState.STOPPED))
            self._ask_leader(lambda requests: requests.set_target(name, target))
        elif draw == 7:
            changed = config(self.random.randint(1, 6), x=str(self.random.random()))
            self._ask_leader(lambda requests: requests.save(name, changed, "test"))
        else:
            self._ask_leader(lambda requests: requests.delete(name))

    def _ask_leader(self, call):
        leader = self.leader()
        if leader is not None:
            leader.request(lambda: call(leader.requests)).add_done_callback(check_refusal)

    def _restart_task(self, task):
        worker = self.random.choice(self.cluster.workers)

        def step():
            worker.requests.check_task(task, owned=worker.reconciler.tasks.owns(task))
            worker.reconciler.tasks.restart_awaited(task)

        worker.request(step).add_done_callback(check_refusal)


def config(tasks, **keys):
    return {"connector.class": "Source", "tasks.max": str(tasks), **keys}


def check_refusal(future):
    error = future.exception()
    if not isinstance(error, NotFoundError | NotLeaderError | RequestError | None):
        raise error


def assert_all_run_once(churn):
    leader = churn.leader()
    snapshot, owners = leader.reconciler.parts.configs.snapshot, leader.membership.view.owners
    load = Counter(dict.fromkeys(owners.values(), 0))
    for name in snapshot.connectors:
        target = snapshot.target(name)
        if target is TargetState.STOPPED:
            assert not snapshot.tasks.get(name)
            continue
        wanted = State.PAUSED if target is TargetState.PAUSED else State.RUNNING
        # Paused before it ever ran, or while it was stopped: it is asked for its tasks when it is resumed.
        assert snapshot.tasks.get(name) or target is TargetState.PAUSED
        for number in snapshot.tasks.get(name, {}):
            task = TaskId(name, number)
            owner = owners[snapshot.placements[task]] if task in snapshot.placements else None
            statuses = leader.reconciler.parts.statuses.tasks(name)
            assert churn.cluster.places(task) == [(owner, wanted)], f"{task}: {statuses}"
            load[owner] += 1
            for worker in churn.cluster.workers:
                status = worker.reconciler.parts.statuses.tasks(name)[number]
                assert (status.state, status.worker_id) == (wanted, owner)
    assert max(load.values()) - min(load.values()) < 2
    running = {t for w in churn.cluster.workers for h in w.live_hosts() for t in h.runs}
    assert running == {TaskId(n, i) for n in snapshot.connectors for i in snapshot.tasks.get(n, {})}


def test_a_restart_that_meets_a_move_leaves_the_task_to_the_leader():
    """The run ends after the placement was taken away, and before its worker has settled on that."""
    churn = Churn(0)
    task = TaskId("c", 1)
    leader, owner = churn.cluster.workers[:2]
    assert churn.cluster.places(task) == [(owner.id, State.RUNNING)]
    restarted = owner.request(lambda: owner.reconciler.tasks.restart_awaited(task))
    owner.loop.turn(ENOUGH)
    assert restarted.done()
    placed = [leader.reconciler.parts.configs.snapshot.placements.get(TaskId("c", n)) for n in range(4)]
    leader.reconciler.parts.configs.put(
        PlacementRecord("c", [None if n == 1 else slot for n, slot in enumerate(placed)])
    )
    for log in churn.cluster.logs():
        log.catch_up()
    for host in owner.talking():
        host.answer()
    owner.loop.turn(ENOUGH)
    churn.rest()
    assert_all_run_once(churn)


def test_a_task_that_nobody_reports_is_named_with_the_reason_and_placed_again(monkeypatch):
    """Workers that let go of a task in silence, as they once did when a restart met a move."""
    churn = Churn(0)
    monkeypatch.setattr(TaskStatuses, "_release", lambda *_, **__: None)
    leader, owner = churn.cluster.workers[:2]
    task = TaskId("c", 1)
    placed = [leader.reconciler.parts.configs.snapshot.placements.get(TaskId("c", n)) for n in range(4)]
    leader.reconciler.parts.configs.put(
        PlacementRecord("c", [None if n == 1 else slot for n, slot in enumerate(placed)])
    )
    churn.rest()
    assert churn.cluster.places(task) == []
    assert [worker.reconciler.overdue.found for worker in churn.cluster.workers] == [()] * 3
    churn.cluster.pass_time(OVERDUE_S)
    for worker in churn.cluster.workers:
        worker.loop.turn(ENOUGH)
        (found,) = worker.reconciler.overdue.found
        assert (found.task, found.since_ms > 0) == (task, True)
        assert found.reason == (
            "It has no slot: the leader waits until its last worker has let go of it (status RUNNING of worker b:1)."
        )
    churn.rest()
    assert_all_run_once(churn)
    assert churn.cluster.places(task) == [(owner.id, State.RUNNING)]
    assert [worker.reconciler.overdue.found for worker in churn.cluster.workers] == [()] * 3


def test_what_is_overdue_is_looked_for_once_a_second_however_much_happens(monkeypatch):
    churn = Churn(0)
    worker = churn.cluster.workers[0]
    looks = []
    monkeypatch.setattr(worker.reconciler.overdue, "_idle", lambda *_: looks.append(1) or {})
    churn.cluster.pass_time(1.0)
    for _ in range(5):
        worker.loop.post("noting a change", list)
        worker.loop.turn(ENOUGH)
    assert len(looks) == 1


@pytest.mark.parametrize(
    "seed", [*range(60), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(60, 260))]
)
def test_after_all_that_can_happen_each_task_runs_in_one_place_as_wanted(seed):
    churn = Churn(seed)
    assert_all_run_once(churn)
    for _ in range(STEPS):
        churn.step()
    churn.rest()
    assert_all_run_once(churn)
