"""A regular expression without an end fails its own task by name; the task beside it goes on in the same process."""

from __future__ import annotations

import pytest
from beside import Beside
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import wait_for
from victims import TEXT

SLOW = "(a|aa)+b"
TOPIC = "a" * 200


def attacks(beside: Beside) -> dict[str, dict[str, str]]:
    source = {"connector.class": "FileStreamSource", "file": str(beside.folder / "lines.txt"), "topic": TOPIC,
              "value.converter": TEXT, "errors.tolerance": "all"}  # fmt: skip
    sink = {"connector.class": "FileStreamSink", "file": str(beside.folder / "out.txt"), "topics.regex": SLOW}
    routed = {"transforms": "t", "transforms.t.type": "org.apache.kafka.connect.transforms.RegexRouter",
              "transforms.t.regex": SLOW, "transforms.t.replacement": "x"}  # fmt: skip
    chosen = {"transforms": "t", "transforms.t.type": "org.apache.kafka.connect.transforms.Filter",
              "transforms.t.predicate": "p", "predicates": "p", "predicates.p.pattern": SLOW,
              "predicates.p.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"}  # fmt: skip
    return {"router": {**source, **routed}, "predicate": {**source, **chosen}, "topics": sink}


@pytest.fixture(scope="module", autouse=True)
def topic(beside: Beside) -> None:
    """Make a topic that the pattern meets."""
    admin = AdminClient({"bootstrap.servers": beside.bootstrap_servers})
    admin.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result(60)


@pytest.mark.parametrize("place", ["router", "predicate", "topics"])
def test_a_slow_pattern_fails_its_own_task_alone(beside: Beside, place: str) -> None:
    with beside.unharmed():
        pass  # a line is there that the pattern meets
    with beside.unharmed():
        assert beside.create(place, attacks(beside)[place]).status_code == 201
        # It is read once: the task is started anew soon.
        told = wait_for(lambda: failure(beside, place), 120, f"{place} failed: {beside.worker.status(place)}")
    beside.delete(place)
    assert f"The regular expression {SLOW} was given up after 1 s on 'aaa" in told
    assert "task_host_died" not in beside.worker.log_path.read_text(), "the other task lost its process"


def failure(beside: Beside, name: str) -> str:
    """Return the trace of the connector's task if it has failed."""
    return "".join(
        task.get("trace", "") for task in beside.worker.status(name).get("tasks", []) if task["state"] == "FAILED"
    )
