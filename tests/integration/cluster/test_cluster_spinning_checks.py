"""Checks that a client whose configurations take for ever to check does not hold up another client's."""

import http.client
import json
import re
import threading

from cluster_worker import eventually

SPINNING = {"connector.class": "CounterSource", "topic": "t", "spins": "true"}
SOUND = {"connector.class": "CounterSource", "topic": "t"}
ROUNDS, CHECKS = 3, 3


def checked(worker, config, source):
    """The errors of a validation that is asked from an address of this machine."""
    port = int(worker.url.rpartition(":")[2])
    client = http.client.HTTPConnection("127.0.0.1", port, 60, (source, 0))
    body = json.dumps({"name": "v", **config})
    path = "/connector-plugins/CounterSource/config/validate"
    client.request("PUT", path, body, {"Content-Type": "application/json"})
    answer = json.loads(client.getresponse().read())
    return [error for one in answer["configs"] for error in one["value"]["errors"]]


def test_checks_of_one_client_that_never_end_keep_no_other_client_waiting(start_worker):
    worker = start_worker(**{"rest.request.timeout.ms": "6000"}).ready()
    assert checked(worker, SOUND, "127.0.0.3") == []
    told, stop = [], threading.Event()

    def repeat():
        while not stop.is_set():
            told.append(checked(worker, SPINNING, "127.0.0.2"))

    attack = threading.Thread(target=repeat, daemon=True)
    attack.start()
    eventually(lambda: told)
    beside = 0
    for _ in range(ROUNDS):
        before = eventually(lambda: len(told))
        for _ in range(CHECKS):
            assert checked(worker, SOUND, "127.0.0.3") == []
            beside += len(told) == before
        eventually(lambda before=before: len(told) > before)
    stop.set()
    attack.join(60)
    # At most one check of each round may fall on the end of an attacking one.
    assert beside >= ROUNDS * (CHECKS - 1), f"{beside} checks ended while an attacking one went on"
    assert all(re.search(r"did not answer check within (3|2\.\d+) s", errors[0]) for errors in told), told
    hosts = re.findall(r"connector_call_hangs .* host=(\S+)", worker.log.read_text())
    assert hosts == ["call-host"] + ["call-host-apart-1"] * (len(told) - 1)


def test_a_check_that_takes_too_much_memory_is_ended_and_says_so(start_worker):
    worker = start_worker(**{"check.host.memory.limit": "350"}).ready()
    worker.create("runs", **{"tasks.max": "1"})
    eventually(worker.runs("runs", 1))
    told = checked(worker, SOUND | {"check.eats.mib": "400"}, "127.0.0.2")
    assert re.fullmatch(
        r"The process that ran the connector's check \(pid \d+\) was killed: it held \d+ MiB of memory, more than "
        r"check\.host\.memory\.limit=350 allows\.",
        told[0],
    )
    assert checked(worker, SOUND, "127.0.0.2") == []
    assert worker.states("runs") == ("RUNNING", ["RUNNING"])
    assert "task_host_died" not in worker.log.read_text()
