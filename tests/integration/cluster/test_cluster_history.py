"""Checks history, rollback, dry run and deletion with offsets, on real Kafka."""

from cluster_worker import eventually

CONFIG = {"connector.class": "CounterSource", "tasks.max": "2", "topic": "c-numbers"}


def test_history_outlives_the_workers_and_leads_back(worker, start_worker):
    worker.create("c")
    eventually(worker.runs("c"))
    assert worker.call("PUT", "/connectors/c/config", CONFIG | {"tasks.max": "1"}).status_code == 200
    eventually(worker.runs("c", 1))
    assert worker.stop() == 0

    again = start_worker().ready()
    eventually(again.runs("c", 1))
    history = again.get("/connectors/c/history")
    assert [(c["version"], c["config"]["tasks.max"]) for c in history["configs"]] == [(1, "2"), (2, "1")]
    assert history["configs"][1]["changes"]["changed"] == {"tasks.max": {"from": "2", "to": "1"}}
    assert all(c["who"].startswith("127.0.0.1 (python-requests") and c["changed_ms"] for c in history["configs"])
    states = [s["state"] for s in history["states"] if s["task"] is None]
    assert (states[0], "UNASSIGNED" in states, states[-1]) == ("RUNNING", True, "RUNNING")
    assert len(history["rebalances"]) == 2

    assert again.call("PUT", "/connectors/c/rollback/1").status_code == 200
    eventually(again.runs("c", 2))
    assert [c["version"] for c in again.get("/connectors/c/history")["configs"]] == [1, 2, 3]


def test_a_dry_run_plans_and_stores_nothing(worker, unique):
    config = CONFIG | {"topic": f"{unique}-new"}
    answer = worker.call("POST", "/connectors?dry_run=true", {"name": "c", "config": config})
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["error_count"], body["plan_error"], body["new_topics"]) == (0, None, [f"{unique}-new"])
    assert len(body["tasks"]) == 2
    assert worker.get("/connectors") == []


def test_a_connector_on_two_workers_is_deleted_with_its_offsets(worker, start_worker):
    other = start_worker().ready()
    worker.create("c")
    eventually(worker.runs("c"))
    eventually(lambda: len(worker.get("/connectors/c/offsets")["offsets"]) == 2)

    answer = other.call("DELETE", "/connectors/c?reset_offsets=true", timeout_s=60)

    assert answer.status_code == 204, answer.text
    eventually(lambda: worker.get("/connectors") == [])  # it may hear of it after the other one answered
    assert other.call("POST", "/connectors", {"name": "c", "config": CONFIG, "initial_state": "STOPPED"}).ok
    assert eventually(lambda: worker.call("GET", "/connectors/c/offsets")).json() == {"offsets": []}
