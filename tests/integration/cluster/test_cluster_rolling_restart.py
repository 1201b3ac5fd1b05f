"""Every worker of a cluster is replaced while data flows."""

import json

from cluster_worker import eventually
from kafka_records import values

ROWS_MORE = 40


def runs(worker, name):
    answer = worker.call("GET", f"/connectors/{name}/status")
    return answer.ok and [task["state"] for task in answer.json()["tasks"]] == ["RUNNING"]


def changes(worker, name):
    """States that the connector and its tasks were in."""
    return [change["state"] for change in worker.get(f"/connectors/{name}/history")["states"]]


def test_a_rolling_restart_loses_no_record_and_fails_no_task(start_worker, kafka, unique, tmp_path):
    keys = {"exactly.once.source.support": "enabled"}
    workers = [start_worker(**keys).ready(), start_worker(**keys).ready()]
    topic, file = f"{unique}-numbers", tmp_path / "numbers.txt"
    workers[0].create("source", topic=topic, **{"tasks.max": "1", "exactly.once.support": "required", "pause.ms": "20"})
    sink = {"connector.class": "FileStreamSink", "topics": topic, "file": str(file), "tasks.max": "1"}
    workers[0].create("rolling-sink", **sink)
    for name in ("source", "rolling-sink"):
        eventually(lambda name=name: runs(workers[0], name))

    for place in (0, 1):
        before = len(values(kafka, topic))
        assert workers[place].stop() == 0
        eventually(lambda before=before: len(values(kafka, topic)) >= before + ROWS_MORE)
        workers[place] = start_worker(**keys).ready()
    before = len(values(kafka, topic))
    eventually(lambda: len(values(kafka, topic)) >= before + ROWS_MORE)

    for name in ("source", "rolling-sink"):
        assert "FAILED" not in changes(workers[0], name)
    assert workers[1].call("PUT", "/connectors/source/stop").status_code == 204
    eventually(lambda: workers[1].states("source") == ("STOPPED", []))
    numbers = values(kafka, topic)
    assert numbers == list(range(len(numbers)))
    eventually(lambda: {int(line) for line in file.read_text().split()} == set(numbers))


def test_a_host_that_takes_too_much_memory_is_replaced_and_says_so(start_worker, tmp_path):
    worker = start_worker(**{"task.host.memory.limit": "350", "task.hosts": "2"}).ready()
    eat = tmp_path / "eat"
    worker.create("eats", **{"tasks.max": "1", "eat.file": str(eat)})
    worker.create("other", **{"tasks.max": "1"})
    eventually(worker.runs("eats", 1))
    eventually(worker.runs("other", 1))
    pids = {host.pid for host in worker.hosts()}
    eat.touch()
    eventually(lambda: "task.host.memory.limit=350" in json.dumps(worker.get("/connectors/eats/history")))
    eventually(worker.runs("eats", 1))
    assert "FAILED" not in changes(worker, "other")
    assert len({host.pid for host in worker.hosts()} & pids) >= 1
