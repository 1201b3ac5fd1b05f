"""Checks what a connector can do to its own process, and what other connectors notice of it."""

import json
import time

import pytest
from cluster_worker import eventually
from kafka_records import records


def traces(worker, name):
    return json.dumps(worker.get(f"/connectors/{name}/history")["states"])


def test_code_that_keeps_the_interpreter_costs_the_others_seconds(start_worker, kafka, tmp_path):
    worker = start_worker(**{"task.hosts": "1"}).ready()
    hold = tmp_path / "hold"
    worker.create("holds", **{"tasks.max": "1", "hold.file": str(hold)})
    worker.create("ok", **{"tasks.max": "1"})
    eventually(worker.runs("holds", 1))
    eventually(worker.runs("ok", 1))
    hold.touch()
    eventually(lambda: not hold.exists())
    held_s = time.monotonic()

    def failed():
        trace = traces(worker, "holds")
        return "no sign of life" in trace and trace

    trace = eventually(failed)
    assert "was in poll" in trace
    assert "counter_plugin.py" in trace
    before = len(records(kafka, "ok-numbers"))
    eventually(lambda: len(records(kafka, "ok-numbers")) > before)
    print(f"the other connector works again after {time.monotonic() - held_s:.1f} s")  # noqa: T201 - a figure
    eventually(worker.runs("holds", 1))
    assert len(worker.hosts()) >= 2


@pytest.mark.parametrize("method", ["put", "flush"])
def test_a_sink_that_hangs_is_deleted_all_the_same(start_worker, method, tmp_path):
    hangs = tmp_path / "hangs"
    worker = start_worker(**{"task.shutdown.graceful.timeout.ms": "500", "task.hosts": "1"}).ready()
    worker.create("ok", **{"tasks.max": "1"})
    sink = {"connector.class": "ForgetfulSink", "topics": "ok-numbers", "tasks.max": "1", "hang.on": method}
    worker.create("hung", **sink, **{"hang.file": str(hangs)})
    eventually(hangs.exists)
    assert worker.call("DELETE", "/connectors/hung").status_code == 204
    eventually(worker.runs("ok", 1))
    eventually(lambda: "hung-0 did not stop in time" in worker.log.read_text())
    eventually(worker.runs("ok", 1))


def test_a_connector_with_a_process_of_its_own_dies_alone(start_worker, tmp_path):
    worker = start_worker(**{"task.hosts": "1"}).ready()
    crash = tmp_path / "crash"
    worker.create("alone", **{"tasks.max": "1", "connector.isolation": "process", "crash.file": str(crash)})
    worker.create("ok", **{"tasks.max": "1"})
    eventually(worker.runs("alone", 1))
    eventually(worker.runs("ok", 1))
    crash.touch()
    eventually(lambda: "SIGABRT" in traces(worker, "alone"))
    eventually(worker.runs("alone", 1))
    assert "FAILED" not in traces(worker, "ok")
