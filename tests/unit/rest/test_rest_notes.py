"""Checks notes on a configuration in validation, preview, log and status; answers without notes are Java's."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace

import pytest
from memory_cluster import MemoryConnectors, MemoryOperations
from rest_client import Rest, ServerMaker
from sample_plugins import FILE_SINK, FILE_SOURCE, VAULT_SOURCE

from connect.api.errors import ConnectError
from connect.cluster.model.statuses import ConnectorStatus, Status
from connect.lib.deadline import Deadline
from connect.rest.resources import notes
from connect.runtime.task.condition import Condition
from connect.runtime.task.state import State

CONFIG = {"connector.class": FILE_SOURCE, "topic": "t"}
NOTE = "batch.sise: nobody knows this key, so it has no effect. Is batch.size meant?"


def test_validation_and_preview_have_them(rest: Rest) -> None:
    config = CONFIG | {"name": "a", "batch.sise": "1"}
    answer = rest("PUT", f"/connector-plugins/{FILE_SOURCE}/config/validate?notes=true", config)
    assert (answer.status_code, answer.json()["notes"]) == (200, [NOTE])
    as_java = rest("PUT", f"/connector-plugins/{FILE_SOURCE}/config/validate", config)
    assert list(as_java.json()) == ["name", "error_count", "groups", "configs"]
    assert as_java.headers["X-Connect-Notes"] == NOTE
    odd = rest(
        "PUT",
        f"/connector-plugins/{FILE_SOURCE}/config/validate",
        CONFIG | {"x\r\ny: ü" * 100: "1", "z" * 999: "1", "y" * 999: ""},
    )
    assert odd.headers["X-Connect-Notes"].startswith("x??y: \\xfcx??")
    assert len(odd.headers["X-Connect-Notes"]) == 2003
    answer = rest("PUT", f"/connector-plugins/{FILE_SOURCE}/config/validate", config)
    assert list(answer.json()) == ["name", "error_count", "groups", "configs"], "Java's members alone"
    assert rest("PUT", "/connectors/a/config?dry_run=true", config).json()["notes"] == [NOTE]
    answer = rest("PUT", f"/connector-plugins/{FILE_SOURCE}/config/validate?notes=true", CONFIG | {"name": "a"})
    assert "notes" not in answer.json()


def test_an_override_that_no_client_takes_is_created_as_in_java_and_named(rest: Rest) -> None:
    config = CONFIG | {"producer.override.compression.type": "brotli"}
    answer = rest("PUT", f"/connector-plugins/{FILE_SOURCE}/config/validate?notes=true", config | {"name": "a"})
    (note,) = answer.json()["notes"]
    assert note.startswith("producer.override.compression.type: tasks fail until it is mended: Invalid value")
    assert answer.json()["error_count"] == 0
    assert rest("PUT", "/connectors/a/config", config).status_code == 201
    assert rest.get("/connectors/a/status")["notes"] == [note]
    provided = CONFIG | {"name": "a", "producer.override.compression.type": "${env:KIND}"}
    answer = rest("PUT", f"/connector-plugins/{FILE_SOURCE}/config/validate?notes=true", provided)
    assert not any("tasks fail" in note for note in answer.json().get("notes", ()))


DEFAULTS = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
LISTED = {**DEFAULTS, "topic.creation.groups": "small.ones", "topic.creation.small.ones.include": "s-.*"}


@pytest.mark.parametrize(("more", "told"), [
    ({**LISTED, "topic.creation.small.ones.cleanup.policy": "compact"}, ""),
    ({**DEFAULTS, "topic.creation.default.retention.msx": "1"},
     "it is removed where a topic is missing. Is topic.creation.default.retention.ms meant?"),
    ({**LISTED, "topic.creation.small.ones.partition": "3"}, "Is topic.creation.small.ones.partitions meant?"),
    ({**DEFAULTS, "topic.creation.defualt.partitions": "3"},
     "no effect, as topic.creation.groups does not list defualt. Is topic.creation.default.partitions meant?"),
    ({**DEFAULTS, "topic.creation.group": "a"}, "nobody knows this key. Is topic.creation.groups meant?"),
    ({**DEFAULTS, "topic.creation.default.redpanda.remote.write": "true"}, "brokers that lack it refuse"),
    ({**DEFAULTS, "topic.creation.default.exclude": "a"}, "default takes every topic that no other group takes"),
])  # fmt: skip
def test_a_key_by_which_no_topic_is_made_is_named(rest: Rest, more: dict[str, str], told: str) -> None:
    config = CONFIG | more
    answer = rest("PUT", f"/connector-plugins/{FILE_SOURCE}/config/validate?notes=true", config | {"name": "a"})
    assert answer.json()["error_count"] == 0, answer.text
    notes = answer.json().get("notes", [])
    assert (len(notes), told in "".join(notes)) == (1 if told else 0, True), notes
    assert rest("PUT", "/connectors/a/config", config).status_code == 201
    assert rest.get("/connectors/a/status").get("notes", []) == notes
    assert answer.headers.get("X-Connect-Notes", "") == "; ".join(notes)
    assert all(note in str(rest.get("/connectors/a/why")) for note in notes)


def test_a_sink_is_told_of_keys_that_only_sources_or_dead_letters_have(rest: Rest) -> None:
    config = {"connector.class": FILE_SINK, "topics": "t", "name": "s", "producer.override.linger.ms": "5", **DEFAULTS}
    path = f"/connector-plugins/{FILE_SINK}/config/validate?notes=true"
    sends, makes = rest("PUT", path, config).json()["notes"]
    assert sends.startswith("producer.override.linger.ms: no effect without errors.deadletterqueue.topic.name")
    assert makes.startswith("topic.creation.default.partitions, topic.creation.default.replication.factor: no effect")
    letters = config | {"errors.deadletterqueue.topic.name": "letters"}
    assert rest("PUT", path, letters).json()["notes"] == [makes]


def test_the_log_tells_them_when_a_configuration_is_given(rest: Rest, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    rest("PUT", "/connectors/a/config", CONFIG | {"batch.sise": "1"})
    assert f"The configuration of connector a: {NOTE}" in caplog.text


def test_the_status_has_those_of_the_configuration_that_is_in_force(rest: Rest) -> None:
    rest("PUT", "/connectors/a/config", CONFIG | {"batch.sise": "1"})
    assert rest.get("/connectors/a/status")["notes"] == [NOTE]
    assert rest.get("/connectors/a/status")["notes"] == [NOTE]
    rest("PUT", "/connectors/a/config", CONFIG)
    assert "notes" not in rest.get("/connectors/a/status")


def test_the_status_of_all_connectors_and_the_reasons_of_one_have_them_too(rest: Rest) -> None:
    rest("PUT", "/connectors/a/config", CONFIG | {"batch.sise": "1"})
    rest("PUT", "/connectors/b/config", CONFIG)
    found = rest.get("/connectors?expand=status&expand=info&notes=true")
    assert found["a"]["status"] == rest.get("/connectors/a/status")
    assert found["a"]["status"]["notes"] == [NOTE]
    assert "notes" not in found["b"]["status"], "Java's members alone"
    assert "notes" not in rest.get("/connectors?expand=status")["a"]["status"], "nobody asked for them"
    assert set(rest.get("/connectors?expand=info")["a"]) == {"info"}
    assert {"about": "configuration", "text": NOTE} in rest.get("/connectors/a/why")
    assert [part for part in rest.get("/connectors/b/why") if part["about"] == "configuration"] == []


def test_what_tasks_note_of_their_work_is_a_note_once_and_no_reason(
    rest: Rest, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest("PUT", "/connectors/a/config", CONFIG | {"batch.sise": "1"})
    status, told = MemoryConnectors.status, Condition("Table x is merged.\nTable y, too.", 1, "nothing")

    def noting(connectors: MemoryConnectors, name: str) -> ConnectorStatus:
        found = status(connectors, name)
        return replace(found, tasks={task: Status(State.RUNNING, "w", condition=told) for task in (0, 1)})

    monkeypatch.setattr(MemoryConnectors, "status", noting)
    found = rest.get("/connectors/a/status")
    assert found["notes"] == [NOTE, "Table x is merged.", "Table y, too."]
    assert [task for task in found["tasks"] if "reason" in task or "waiting_for" in task] == []
    assert {"about": "configuration", "text": "Table y, too."} in rest.get("/connectors/a/why")
    assert rest.get("/connectors?expand=status&notes=true")["a"]["status"] == found


def test_a_configuration_that_takes_long_to_look_at_holds_up_no_list(
    rest: Rest, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_read, looking = threading.Event(), notes._notes
    monkeypatch.setattr(notes, "LOOK_S", 0.05)
    monkeypatch.setattr(notes, "_notes", lambda *given: is_read.wait(30) and looking(*given))
    rest("PUT", "/connectors/a/config", CONFIG | {"batch.sise": "1"})
    assert "notes" not in rest.get("/connectors?expand=status&notes=true")["a"]["status"]
    is_read.set()
    deadline = Deadline.after(10.0)
    while "notes" not in rest.get("/connectors?expand=status&notes=true")["a"]["status"]:
        assert deadline.wait(0.01), "The notes never came."


def test_no_note_shows_a_secret(rest: Rest) -> None:
    vault = {"connector.class": VAULT_SOURCE, "connection.url": "u", "connection.password": "hunter2-strong"}
    rest("PUT", "/connectors/v/config", vault | {"my-hunter2-strong-key": "x"})
    status = rest.get("/connectors/v/status")
    assert "hunter2" not in str(status)
    assert len(status["notes"]) == 1


def test_what_a_connector_finds_to_work_in_part_is_a_note_too(
    serve: ServerMaker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    operations = MemoryOperations()
    operations.check_notes = ("Table a is left aside.",)
    rest = serve(operations)
    config = CONFIG | {"name": "a"}
    answer = rest("PUT", f"/connector-plugins/{FILE_SOURCE}/config/validate?notes=true", config)
    assert (answer.json()["error_count"], answer.json()["notes"]) == (0, ["Table a is left aside."])
    assert rest("PUT", "/connectors/a/config?dry_run=true", config).json()["notes"] == ["Table a is left aside."]
    assert rest("PUT", "/connectors/a/config", CONFIG).status_code == 201
    assert "The configuration of connector a: Table a is left aside." in caplog.text


def test_those_of_a_large_configuration_come_from_a_task_host(rest: Rest) -> None:
    config = CONFIG | {"batch.sise": "1", "file": "f" * 9000}
    assert rest("PUT", "/connectors/a/config", config).status_code == 201
    rest.operations.validate_error = ConnectError("It is gone.")
    assert "notes" not in rest.get("/connectors/a/status")
    assert rest.get("/connectors?expand=status&notes=true") == {"a": {"status": rest.get("/connectors/a/status")}}
    rest.operations.validate_error = None
    assert NOTE in rest.get("/connectors?expand=status&notes=true")["a"]["status"]["notes"]
    rest.operations.validate_error = ConnectError("It is gone.")
    assert NOTE in rest.get("/connectors/a/status")["notes"], "they are known"
