"""A source's offsets in a topic of its own, with a copy in the worker's; by real workers on real Kafka."""

import json

import pytest
from cluster_worker import eventually
from kafka_records import records, values

from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.settings import admin_settings
from connect.lib.deadline import Deadline


@pytest.fixture
def admin(kafka):
    return TopicAdmin(admin_settings({"bootstrap.servers": kafka.bootstrap_servers}, {}, "test").properties)


def stop(worker):
    assert worker.call("PUT", "/connectors/c/stop").status_code == 204
    eventually(lambda: worker.states("c") == ("STOPPED", []))


def resume(worker):
    assert worker.call("PUT", "/connectors/c/resume").status_code == 202


def reconfigure(worker, **changes):
    """Changes of the configuration; None removes a key."""
    answer = worker.call("PATCH", "/connectors/c/config", changes)
    assert answer.status_code == 200, answer.text


def offset(worker):
    found = worker.get("/connectors/c/offsets")["offsets"]
    return found[0]["offset"]["next"] if found else None


def last(kafka, topic):
    """The offset that a topic holds for the connector's one partition."""
    found = [value for key, value in records(kafka, topic) if json.loads(key) == ["c", {"share": "0"}]]
    return json.loads(found[-1])["next"] if found and found[-1] is not None else None


@pytest.mark.parametrize("support", ["required", pytest.param("requested", marks=pytest.mark.chaos)])
def test_offsets_are_kept_in_both_topics_and_the_connectors_own_counts(worker, kafka, admin, unique, support):
    topic, own, workers = f"{unique}-numbers", f"{unique}-own", f"{unique}-offsets"
    keys = {"tasks.max": "1", "topic": topic, "exactly.once.support": support}
    worker.create("c", **keys)
    eventually(lambda: offset(worker))
    stop(worker)
    # The connector has stopped a moment before its task has stored the last offset.
    before = eventually(lambda: offset(worker) == len(values(kafka, topic)) and offset(worker))

    # What was stored before the connector had a topic of its own is found in the worker's.
    reconfigure(worker, **{"offsets.storage.topic": own})
    assert offset(worker) == before
    resume(worker)
    eventually(lambda: (last(kafka, own) or 0) > before)
    stop(worker)
    assert admin.configs(own, Deadline.after(60))["cleanup.policy"] == "compact"
    assert admin.partition_counts([own], Deadline.after(60)) == {own: 2}
    eventually(lambda: last(kafka, own) == last(kafka, workers) == offset(worker) == len(values(kafka, topic)))

    body = {"offsets": [{"partition": {"share": "0"}, "offset": {"next": 1_000_000}}]}
    assert worker.call("PATCH", "/connectors/c/offsets", body).status_code == 200
    assert worker.get("/connectors/c/offsets") == body
    eventually(lambda: last(kafka, own) == last(kafka, workers) == 1_000_000)
    resume(worker)
    eventually(lambda: values(kafka, topic)[-1] > 1_000_000)
    stop(worker)

    # The copy lets it go back to the worker's topic.
    stored = eventually(lambda: offset(worker) == values(kafka, topic)[-1] + 1 and offset(worker))
    reconfigure(worker, **{"offsets.storage.topic": None})
    eventually(lambda: offset(worker) == stored)
    reconfigure(worker, **{"offsets.storage.topic": own})
    assert worker.call("DELETE", "/connectors/c/offsets").status_code == 200
    assert worker.get("/connectors/c/offsets") == {"offsets": []}
    assert (last(kafka, own), last(kafka, workers)) == (None, None)
    numbers = values(kafka, topic)
    small = [n for n in numbers if n < 1_000_000]
    assert small == list(range(len(small)))


def test_an_offsets_topic_that_is_not_compacted_is_refused(worker, admin, unique):
    admin.create(f"{unique}-own", partitions=1, deadline=Deadline.after(60))
    worker.create("c", **{"tasks.max": "1", "offsets.storage.topic": f"{unique}-own"})
    eventually(lambda: worker.states("c") == ("RUNNING", ["FAILED"]))
    trace = worker.get("/connectors/c/status")["tasks"][0]["trace"]
    assert f"Topic '{unique}-own' supplied via the 'offsets.storage.topic' property" in trace
    assert "'cleanup.policy=compact'" in trace
    assert "connector configuration" in trace
