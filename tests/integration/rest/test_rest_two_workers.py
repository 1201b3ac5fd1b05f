"""Checks what REST promises beyond the conformance suite, on two real workers: levels, initial offsets, names."""

from urllib.parse import quote

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from e2e_worker import wait_for
from rest_workers import ask, runs, two_workers

LOGGER = "org.apache.kafka.connect.file"
SOURCE = {"connector.class": "FileStreamSource", "tasks.max": "1"}


@pytest.fixture(scope="module")
def workers(kafka, tmp_path_factory):
    with two_workers(kafka, tmp_path_factory.mktemp("pair")) as pair:
        yield pair


@pytest.fixture
def source(workers, tmp_path, unique):
    """A file source of its own; gone with the test."""
    file = tmp_path / "lines.txt"
    file.write_text("one\ntwo\n")
    config = {**SOURCE, "file": str(file), "topic": unique}
    yield f"{unique}-c", config, file
    ask(workers[0], "DELETE", f"/connectors/{unique}-c")


def logged(workers, text):
    return [text in worker.log_path.read_text() for worker in workers]


def test_a_connectors_log_level_reaches_running_and_later_task_hosts(workers, source):
    name, config, file = source
    assert ask(workers[1], "POST", "/connectors", {"name": name, "config": config}).status_code == 201
    wait_for(lambda: runs(workers[0], name), 30, "the source runs")
    assert logged(workers, "Read 8 bytes") == [False, False]
    assert ask(workers[1], "PUT", f"/admin/loggers/{LOGGER}?scope=cluster", {"level": "DEBUG"}).status_code == 204

    def is_debug():
        return [ask(w, "GET", "/admin/loggers/connectors.file").json().get("level") for w in workers] == ["DEBUG"] * 2

    wait_for(is_debug, 30, "both workers have the level")

    def tells_of_another_line():
        # The host hears of the level a moment after its worker, and may read a line before.
        with file.open("a") as lines:
            lines.write("three\n")
        return any(logged(workers, f"bytes of {file} at byte "))

    wait_for(tells_of_another_line, 30, "the running task host's debug line")
    whole = f"Read {file.stat().st_size} bytes of {file} at byte 0."
    # A host that starts later, for the first time on the other worker, or anew, has the level from its first line on.
    assert ask(workers[0], "PUT", f"/connectors/{name}/stop").status_code == 204
    assert ask(workers[0], "DELETE", f"/connectors/{name}/offsets").status_code == 200
    again = {**config, "connector.isolation": "process"}
    assert ask(workers[0], "PUT", f"/connectors/{name}/config", again).status_code == 200
    assert ask(workers[0], "PUT", f"/connectors/{name}/resume").status_code == 202
    wait_for(lambda: any(logged(workers, whole)), 30, "a new task host's debug line")
    assert f"connector={name}" in "".join(worker.log_path.read_text() for worker in workers)


def test_one_workers_level_is_its_own(workers):
    changed = ask(workers[0], "PUT", "/admin/loggers/some.logger", {"level": "TRACE"})
    assert (changed.status_code, changed.json()) == (200, ["some.logger"])
    assert ask(workers[1], "GET", "/admin/loggers/some.logger").status_code == 404


@pytest.mark.parametrize("through", [0, 1])
def test_a_source_begins_where_its_creator_says(workers, source, through):
    name, config, file = source
    worker = workers[through]
    position = {"partition": {"filename": str(file)}, "offset": {"position": 4}}
    body = {"name": name, "config": config, "initial_state": "STOPPED", "initial_offsets": [position]}
    bad = {**position, "offset": {"position": -1}}
    refused = ask(worker, "POST", "/connectors", {**body, "initial_offsets": [bad]})
    assert (refused.status_code, refused.json()["error_code"]) == (400, 400)
    assert "non-negative" in refused.json()["message"]
    assert ask(worker, "GET", f"/connectors/{name}").status_code == 404
    created = ask(worker, "POST", "/connectors", body)
    assert created.status_code == 201, created.text
    assert created.json()["offsets_status"] == "The offsets for this connector have been altered successfully"
    assert ask(worker, "GET", f"/connectors/{name}/offsets").json() == {"offsets": [position]}
    assert ask(worker, "DELETE", f"/connectors/{name}").status_code == 204
    moved = {**position, "partition": {"filename": "/elsewhere"}}
    assert ask(worker, "POST", "/connectors", {**body, "initial_offsets": [moved]}).status_code == 201
    assert ask(worker, "GET", f"/connectors/{name}/offsets").json() == {"offsets": [moved]}


def test_a_sink_begins_where_its_creator_says(workers, kafka, tmp_path, unique):
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(unique, 1, 1)])[unique].result(30)
    config = {"connector.class": "FileStreamSink", "topics": unique, "file": str(tmp_path / "out")}
    position = {"partition": {"kafka_topic": unique, "kafka_partition": 0}, "offset": {"kafka_offset": 0}}
    body = {"name": unique, "config": config, "initial_state": "STOPPED", "initial_offsets": [position]}
    elsewhere = {**position, "partition": {"kafka_topic": unique, "kafka_partition": 7}}
    refused = ask(workers[1], "POST", "/connectors", {**body, "initial_offsets": [elsewhere]})
    assert (refused.status_code, f"{unique}-7" in refused.json()["message"]) == (400, True)
    created = ask(workers[1], "POST", "/connectors", body)
    assert (created.status_code, "offsets_status" in created.json()) == (201, True)
    assert ask(workers[1], "GET", f"/connectors/{unique}/offsets").json() == {"offsets": [position]}
    assert ask(workers[1], "DELETE", f"/connectors/{unique}?reset_offsets=true").status_code == 204


@pytest.mark.parametrize("tail", ["/", "%", "%2F", " ü", ";x", '\\"', "{x}", "..", "#?&=+"])
def test_a_name_may_hold_any_character_but_controls(workers, source, tail):
    name, config, _ = source
    name = f"{name}{tail}"
    path = f"/connectors/{quote(name, safe='')}"
    for writer, reader in (workers, reversed(workers)):
        assert ask(writer, "POST", "/connectors", {"name": name, "config": config}).status_code == 201
        wait_for(lambda reader=reader: runs(reader, name), 30, "the source runs")
        assert ask(reader, "GET", f"{path}/tasks").json()[0]["id"] == {"connector": name, "task": 0}
        assert ask(reader, "PUT", f"{path}/pause").status_code == 202
        assert ask(reader, "POST", f"{path}/restart?includeTasks=true").status_code == 202
        assert ask(reader, "PUT", f"{path}/topics/reset").status_code == 202
        assert ask(reader, "PUT", f"{path}/config", {**config, "x": "1"}).status_code == 200
        assert ask(writer, "DELETE", path).status_code == 204
        wait_for(lambda reader=reader: name not in ask(reader, "GET", "/connectors").json(), 30, "it is gone")
