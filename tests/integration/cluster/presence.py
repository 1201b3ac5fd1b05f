"""Creates a connector whose tasks note which process runs them, and checks their notes."""

import itertools


def create(worker, presence, tasks=4):
    worker.create("c", **{"tasks.max": str(tasks), "presence": str(presence), "pause.ms": "50"})


def spread(worker, tasks=4):
    """Return the running tasks by worker; empty until all of them run."""
    states = worker.task_workers("c") if worker.states("c") else []
    if len(states) != tasks or {state for _, state in states} != {"RUNNING"}:
        return {}
    return {w: sum(1 for other, _ in states if other == w) for w, _ in states}


def assert_never_two_at_once(presence):
    """Fail if a process writes for a task after another process has written for it."""
    for log in presence.iterdir():
        pids = [pid for pid, _ in itertools.groupby(log.read_text().splitlines())]
        assert len(pids) == len(set(pids)), f"task {log.name} was run by {pids}"
