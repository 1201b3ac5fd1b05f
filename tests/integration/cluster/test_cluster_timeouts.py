"""Checks that a request to a connector that never answers ends in time, says what it waited for, and harms nobody."""

import re
import threading

from cluster_worker import eventually

INSTANT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def test_a_request_that_times_out_names_its_stage(start_worker):
    worker = start_worker(**{"rest.request.timeout.ms": "3000"}).ready()
    eventually(lambda: worker.get("/connectors") == [] and worker.hosts())  # asked for anything, it makes hosts ready
    worker.create("well", **{"tasks.max": "1"})
    worker.create("stuck", **{"hang.on": "task_configs"})
    answers = []
    waiting = threading.Thread(
        target=lambda: answers.append(worker.call("POST", "/connectors/stuck/restart")), daemon=True
    )
    waiting.start()
    eventually(worker.runs("well", 1))
    answered = 0
    while waiting.is_alive():
        assert worker.call("GET", "/health").status_code == 200
        assert worker.call("GET", "/connectors/well/status").status_code == 200
        answered += waiting.is_alive()
        waiting.join(0.2)
    assert answered
    (answer,) = answers
    assert (answer.status_code, answer.json()["error_code"]) == (500, 500)
    expected = "asking connector stuck for its tasks, to restart it"
    pattern = rf"Request timed out\. The worker is currently {expected}, which began at {INSTANT}\."
    assert re.fullmatch(pattern, answer.json()["message"]), answer.text
