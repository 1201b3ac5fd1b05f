"""A worker and its task hosts freeze together, like a paused machine, and go on when others have their work."""

import signal
from contextlib import suppress

import psutil
from cluster_worker import eventually
from kafka_records import records

ROWS = 100


def test_a_frozen_machine_that_goes_on_writes_nothing_behind_the_new_owner(start_worker, kafka, unique):
    topic = f"{unique}-numbers"
    workers = {
        worker.url.removeprefix("http://"): worker for worker in (start_worker().ready(), start_worker().ready())
    }
    first = next(iter(workers.values()))
    once = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
    waits = {"producer.override.linger.ms": "300"}
    first.create("c", **{"tasks.max": "1", "topic": topic, "rows": str(ROWS), **once, **waits})
    eventually(first.runs("c", 1))
    eventually(lambda: len(writers(kafka, topic)) > 20 * ROWS)
    ((owner, _),) = first.task_workers("c")
    frozen, other = workers[owner], next(worker for name, worker in workers.items() if name != owner)
    old = set(writers(kafka, topic))

    tree = [psutil.Process(frozen.pid), *frozen.children()]
    for process in tree:
        process.send_signal(signal.SIGSTOP)
    eventually(lambda: set(writers(kafka, topic)) - old)
    for process in tree:
        with suppress(psutil.NoSuchProcess):  # the kernel ends a host whose lease has run out
            process.send_signal(signal.SIGCONT)

    eventually(lambda: frozen.call("GET", "/health").status_code == 200)
    eventually(lambda: len({name for name, _ in other.task_workers("c")}) == 1 and other.runs("c", 1)())
    wrote = writers(kafka, topic)
    new = next(at for at, who in enumerate(wrote) if who not in old)
    late = sum(who in old for who in wrote[new:])
    assert late == 0, f"{late} rows of the old owner are behind the new owner's"
    # It has not failed: nobody did anything wrong.
    assert "FAILED" not in {change["state"] for change in other.get("/connectors/c/history")["states"]}


def writers(kafka, topic):
    """Who wrote each row, in the order of the topic's only partition."""
    return [key for key, _ in records(kafka, topic)]
