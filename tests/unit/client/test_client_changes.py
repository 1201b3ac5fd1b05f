"""Checks what `apply` does, and why a connector does not move, as pure values."""

from __future__ import annotations

import pytest

from connect.api.errors import ConfigError
from connect.client.changes import KeyChange, changes
from connect.client.manifests import Manifest
from connect.client.overview import overview
from connect.client.reasons import reasons


def present(config, state="RUNNING"):
    return {"info": {"config": config, "type": "source"}, "status": {"connector": {"state": state}, "tasks": []}}


def wanted(name, config, state=None):
    return Manifest(name, config, f"{name}.json", state)


def test_what_is_missing_is_created_what_differs_updated_and_the_rest_left():
    cluster = {
        "same": present({"a": "1", "name": "same"}),
        "other": present({"a": "1", "b": "2"}),
        "extra": present({}),
    }
    files = [wanted("same", {"a": "1"}), wanted("other", {"a": "3", "c": "4"}), wanted("new", {"x": "y"})]
    found = {change.name: change for change in changes(files, cluster, prune=False)}
    assert {name: change.verb for name, change in found.items()} == {
        "same": "leave",
        "other": "update",
        "new": "create",
    }
    assert found["other"].keys == (KeyChange("a", "1", "3"), KeyChange("b", "2", None), KeyChange("c", None, "4"))
    assert {c.name: c.verb for c in changes(files, cluster, prune=True)}["extra"] == "delete"


def test_a_folder_without_connectors_is_no_wish_to_delete_them_all():
    with pytest.raises(ConfigError, match="No file wants a connector, so that pruning would delete 2 connectors"):
        changes([], {"a": present({}), "b": present({})}, prune=True)
    assert changes([], {"a": present({})}, prune=False) == []
    assert changes([], {}, prune=True) == []


def test_a_secret_that_the_cluster_does_not_show_is_sent_again():
    cluster = {"s": present({"connection.password": "[hidden]", "u": "jdbc:x://u:[hidden]@h"})}
    (change,) = changes([wanted("s", {"connection.password": "new", "u": "jdbc:x://u:p@h"})], cluster, prune=False)
    assert (change.verb, change.keys, change.hidden) == ("update", (), ("connection.password", "u"))


def test_a_state_alone_is_a_change():
    (change,) = changes([wanted("s", {"a": "1"}, "PAUSED")], {"s": present({"a": "1"})}, prune=False)
    assert (change.verb, change.keys, change.state) == ("update", (), "PAUSED")
    (left,) = changes([wanted("s", {"a": "1"}, "PAUSED")], {"s": present({"a": "1"}, "PAUSED")}, prune=False)
    assert left.verb == "leave"


def test_what_needs_a_person_comes_first_and_says_why():
    failed = {
        "info": {"config": {"connector.class": "a.b.Source"}, "type": "source"},
        "status": {"connector": {"state": "RUNNING"}, "tasks": [
            {"id": 0, "state": "RUNNING"}, {"id": 1, "state": "FAILED", "trace": "x.Error: boom\n\tat y"}]},
    }  # fmt: skip
    lines = overview({"a": present({}), "z": failed})
    assert [(line.name, line.state, line.tasks, line.reason) for line in lines] == [
        ("z", "FAILED", "1/2", "x.Error: boom"),
        ("a", "RUNNING", "0/0", ""),
    ]


def test_reasons_tell_how_far_behind_a_task_is():
    running = {"id": 0, "state": "RUNNING"}
    status = {"name": "s", "connector": {"state": "RUNNING"}, "tasks": [running]}
    found = reasons(status, [{"partition": {}, "offset": {}}], {"0": {"lag_rows": 1200.0, "lag_s": 3.21}})
    assert found[-1].text == (
        "RUNNING; rows move, or there are none. 1,200 rows not committed, the oldest of them is 3.2 s old."
    )


def test_reasons_tell_a_source_that_is_behind_from_one_that_was_looked_at_a_while_ago():
    status = {"name": "s", "connector": {"state": "RUNNING"}, "tasks": [{"id": 0, "state": "RUNNING"}]}
    offsets = [{"partition": {}, "offset": {}}]
    behind = reasons(status, offsets, {"0": {"source_lag_s": 7.25, "caught_up_age_s": 7.25}})
    assert "7.2 s behind its source" in behind[-1].text
    rows = reasons(status, offsets, {"0": {"source_lag_rows": 1200.0, "source_lag_bytes": 4096.0}})
    assert "At least 1,200 rows of its source not in Kafka, 4,096 bytes of the source's log not read." in rows[-1].text
    drained = reasons(status, offsets, {"0": {"source_lag_s": 0.0, "source_lag_rows": 0.0, "caught_up_age_s": 3.2}})
    assert "behind" not in drained[-1].text
    assert "All that its source had 3.2 s ago is in Kafka." in drained[-1].text


@pytest.mark.parametrize(
    ("state", "tasks", "told"),
    [
        ("RUNNING", ["RUNNING", "RUNNING"], "RUNNING; rows move, or there are none."),
        ("RUNNING", ["RUNNING", "FAILED"], "RUNNING, but of 2 tasks 1 does not move; see there."),
        ("PAUSED", ["PAUSED"], "PAUSED: somebody asked for it; `connect connectors resume` lets it go on."),
        ("STOPPED", [], "STOPPED: somebody asked for it; `connect connectors resume` lets it go on."),
    ],
)
def test_a_connector_does_not_say_that_rows_move_where_its_tasks_stand(state, tasks, told):
    status = {"name": "s", "connector": {"state": state}, "tasks": [{"id": n, "state": s} for n, s in enumerate(tasks)]}
    assert reasons(status, [{"partition": {}, "offset": {}}])[0].text == told


def test_reasons_tell_of_bad_rows_that_are_not_in_the_target():
    status = {"name": "s", "connector": {"state": "RUNNING"}, "tasks": [{"id": 0, "state": "RUNNING"}]}
    figures = {"lag_rows": 0.0, "skipped_total": 7.0, "dead_letters_total": 4.0, "rows_total": 9.0}
    assert (
        "4 bad rows given to the dead-letter topic, 3 bad rows PASSED OVER, kept nowhere (errors.tolerance=all), "
        "9 rows since the task began."
    ) in reasons(status, [{}], {"0": figures})[-1].text
    none = reasons(status, [{}], {"0": figures | {"skipped_total": 0.0, "dead_letters_total": 0.0}})[-1].text
    assert "bad row" not in none


def test_a_planned_task_of_which_nobody_has_said_anything_does_not_run():
    status = {"name": "s", "connector": {"state": "RUNNING"}, "tasks": [{"id": 0, "state": "RUNNING"}]}
    found = {one.about: one.text for one in reasons(status, [{}], planned=[0, 1])}
    assert found["connector s"] == "RUNNING, but of 2 tasks 1 does not move; see there."
    assert found["task 1"].startswith("UNASSIGNED: no worker has said that it runs.")
    none = {one.about for one in reasons({**status, "tasks": []}, [{}], planned=[0])}
    assert none == {"connector s", "task 0"}, "nobody says that none is planned"
    stopped = {**status, "connector": {"state": "STOPPED"}, "tasks": []}
    assert [one.about for one in reasons(stopped, [{}], planned=[0])] == ["connector s"]


def test_the_overview_counts_a_task_of_which_nobody_has_said_anything():
    info = {"config": {"connector.class": "Sink"}, "type": "sink", "tasks": [{"connector": "a", "task": 0}]}
    status = {"name": "a", "connector": {"state": "RUNNING"}, "tasks": []}
    (line,) = overview({"a": {"info": info, "status": status}})
    assert (line.state, line.tasks) == ("UNASSIGNED", "0/1")
    (rests,) = overview({"a": {"info": info, "status": {**status, "connector": {"state": "STOPPED"}}}})
    assert (rests.state, rests.tasks) == ("STOPPED", "0/0")


def test_reasons_name_what_is_waited_for_and_since_when():
    held = {
        "id": 0, "state": "RUNNING", "reason": "The store is away.", "since": "2026-01-01T00:00:00.000Z",
        "waiting_for": "sink", "next_attempt": "2026-01-01T00:01:00.000Z",
    }  # fmt: skip
    found = reasons({"name": "s", "connector": {"state": "RUNNING"}, "tasks": [held]}, [])
    assert [reason.about for reason in found] == ["connector s", "task 0", "offsets"]
    assert found[1].text == (
        "RUNNING: The store is away. (since 2026-01-01T00:00:00.000Z, next attempt 2026-01-01T00:01:00.000Z) "
        "It waits for the sink."
    )


def test_rows_that_were_missed_are_no_note_on_the_configuration_and_something_is_wrong():
    task = {"id": 0, "state": "RUNNING", "reason": "It keeps 3 rows. ROWS MISSED: 7 rows.", "waiting_for": "rows"}
    notes = ["ROWS MISSED: 7 rows of t-0.", "batch.sise: no effect."]
    status = {"name": "c", "connector": {"state": "RUNNING"}, "notes": notes, "tasks": [task]}
    found = {reason.about: reason.text for reason in reasons(status, ({},), {"0": {"missed_rows_total": 7.0}})}
    assert found["rows"] == "ROWS MISSED: 7 rows of t-0."
    assert found["configuration"] == "batch.sise: no effect."
    assert "It waits for more rows." in found["task 0"]
    assert "nothing is wrong" not in found["task 0"]
    assert "7 rows MISSED, which Kafka no longer had" in found["task 0"]
