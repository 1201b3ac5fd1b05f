"""A status says why rows do not move: a store that is away, a database that is away, a tail below flush.size."""

from __future__ import annotations

import os

import psycopg
import pytest
import requests
from confluent_kafka import Producer
from e2e_s3 import sink_config
from e2e_worker import wait_for
from shared_services import S3_BUCKET

from connect.tools.services import SeaweedS3Service


@pytest.fixture
def own_s3():
    with SeaweedS3Service() as service:
        service.create_bucket(S3_BUCKET)
        yield service


def task_of(worker, name):
    answer = worker.call("GET", name, "/status")
    tasks = answer.json().get("tasks", []) if answer.status_code == 200 else []
    return tasks[0] if tasks else {}


def metric(worker, name, figure):
    prefix = f'{figure}{{connector="{name}",task="0"}} '
    lines = requests.get(f"{worker.url}/metrics", timeout=30).text.splitlines()
    return next((float(line.removeprefix(prefix)) for line in lines if line.startswith(prefix)), None)


def produce(kafka, topic, count):
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for i in range(count):
        producer.produce(topic, value=b'{"id":%d}' % i, partition=0)
    assert producer.flush(30) == 0


def test_a_sink_says_that_its_store_is_away_and_that_a_tail_waits_for_rows(worker, kafka, own_s3, unique):
    config = sink_config(own_s3.endpoint, S3_BUCKET, unique, unique)
    config |= {"flush.size": "10", "rotate.schedule.interval.ms": "-1", "value.converter.schemas.enable": "false",
               "value.converter": "org.apache.kafka.connect.json.JsonConverter"}  # fmt: skip
    produce(kafka, unique, 15)
    assert worker.create(unique, config).status_code == 201
    worker.wait_for_tasks(unique, "RUNNING")

    wait_for(lambda: task_of(worker, unique).get("waiting_for") == "rows", 60, "a reason for the tail")
    tail = task_of(worker, unique)
    assert tail["state"] == "RUNNING"
    assert f"5 rows of {unique}-0" in tail["reason"]
    assert "flush.size" in tail["reason"]
    wait_for(lambda: metric(worker, unique, "kafka_connect_task_lag_rows") == 5, 30, "a lag of the rows not committed")

    own_s3.stop()
    produce(kafka, unique, 50)
    wait_for(lambda: task_of(worker, unique).get("waiting_for") == "sink", 60, "a reason for the store")
    away = task_of(worker, unique)
    assert away["state"] == "RUNNING"
    assert away["retrying_since"] <= away["next_attempt"]
    about_it = [line for line in worker.log_path.read_text().splitlines() if "not reachable" in line]
    assert about_it, worker.log_tail()
    assert all(f"connector={unique}" in line and "task=0" in line for line in about_it), about_it
    own_s3.start()
    wait_for(lambda: task_of(worker, unique).get("waiting_for") == "rows", 120, "the tail's reason again")
    worker.call("DELETE", unique)


def test_a_source_says_that_its_database_is_away(worker, own_postgres, unique):
    at = own_postgres.endpoint
    with psycopg.connect(
        host=at.host, port=at.port, user=at.user, password=at.password, dbname=at.database, autocommit=True
    ) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY)")
        connection.execute("INSERT INTO orders VALUES (1)")
    config = {
        "connector.class": "JdbcSourceConnector", "connection.user": at.user, "connection.password": at.password,
        "connection.url": f"jdbc:postgresql://{at.host}:{at.port}/{at.database}", "mode": "incrementing",
        "incrementing.column.name": "id", "table.whitelist": "orders", "topic.prefix": f"{unique}-",
        "poll.interval.ms": "200",
    }  # fmt: skip
    assert worker.create(unique, config).status_code == 201
    worker.wait_for_tasks(unique, "RUNNING")
    lag = "kafka_connect_task_source_lag_seconds"
    wait_for(lambda: metric(worker, unique, lag) == 0.0, 60, "a lag of nothing")
    own_postgres.stop()
    wait_for(lambda: task_of(worker, unique).get("waiting_for") == "source", 60, "a reason")
    away = task_of(worker, unique)
    assert away["state"] == "RUNNING"
    assert str(at.port) in away["reason"]
    assert at.password not in away["reason"]
    assert away["since"] == away["retrying_since"] <= away["next_attempt"]
    wait_for(lambda: (metric(worker, unique, lag) or 0.0) > 5.0, 60, "a lag that grows")
    said = worker.call("GET", unique, "/why").json()
    assert any("s behind its source" in one["text"] for one in said), said
    own_postgres.start()
    wait_for(lambda: "reason" not in task_of(worker, unique), 60, "rows that move again")
    wait_for(lambda: metric(worker, unique, lag) == 0.0, 60, "a lag of nothing again")
    worker.call("DELETE", unique)


def test_a_source_says_which_of_its_tables_is_left_aside(worker, own_postgres, unique):
    at = own_postgres.endpoint
    with psycopg.connect(
        host=at.host, port=at.port, user=at.user, password=at.password, dbname=at.database, autocommit=True
    ) as connection:
        for statement in (
            "CREATE TABLE open_to_all (id int PRIMARY KEY)",
            "CREATE TABLE closed (id int PRIMARY KEY)",
            "INSERT INTO open_to_all VALUES (1)",
            "CREATE USER reader PASSWORD 'canary-4711'",
            "GRANT SELECT ON open_to_all TO reader",
        ):
            connection.execute(statement)
        config = {
            "connector.class": "JdbcSourceConnector", "connection.user": "reader", "connection.password": "canary-4711",
            "connection.url": f"jdbc:postgresql://{at.host}:{at.port}/{at.database}", "mode": "incrementing",
            "incrementing.column.name": "id", "table.whitelist": "open_to_all,closed", "topic.prefix": f"{unique}-",
            "poll.interval.ms": "200", "table.poll.interval.ms": "500",
        }  # fmt: skip
        assert worker.create(unique, config).status_code == 201
        wait_for(lambda: "left aside" in task_of(worker, unique).get("reason", ""), 60, "the table that is left aside")
        told = task_of(worker, unique)
        assert told["state"] == "RUNNING"
        assert "closed: " in told["reason"]
        assert "the rights of the user" in told["reason"]
        assert "canary" not in told["reason"]
        said = worker.call("GET", unique, "/why").json()
        assert any("closed: " in one["text"] for one in said), said
        connection.execute("GRANT SELECT ON closed TO reader")
        wait_for(lambda: "reason" not in task_of(worker, unique), 60, "a table that is read again")
    worker.call("DELETE", unique)


def test_a_task_that_opens_for_long_does_not_seem_to_run_and_says_what_it_waits_for(worker, tmp_path, unique):
    plain, pipe = tmp_path / "plain", tmp_path / "pipe"
    os.mkfifo(pipe)  # whoever opens it to write waits for a reader
    config = {"connector.class": "FileStreamSink", "topics": unique, "file": str(plain), "tasks.max": "1"}
    new = f"{unique}-new"
    assert worker.create(unique, config).status_code == 201
    worker.wait_for_tasks(unique, "RUNNING")
    assert worker.create(new, config | {"file": str(pipe)}).status_code == 201
    # A new connector has no status yet, and a changed one has that of its last run.
    said = wait_for(lambda: reasons_of(worker, new), 60, "a status of the connector")
    assert said["task 0"].startswith("UNASSIGNED: no worker has said that it runs."), said
    assert "planned none" not in str(said)
    changed = requests.put(f"{worker.url}/connectors/{unique}/config", json=config | {"file": str(pipe)}, timeout=60)
    assert changed.status_code == 200, changed.text
    for name in (unique, new):
        opens = worker.wait_for_tasks(name, "RESTARTING", 90)["tasks"][0]
        assert (opens["reason"], opens["waiting_for"]) == ("open has not returned for 15 s.", "sink")
        assert reasons_of(worker, name)[f"connector {name}"].startswith("RUNNING, but of 1 task 1 does not move")
    with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb"):
        for name in (unique, new):
            runs = worker.wait_for_tasks(name, "RUNNING", 90)["tasks"][0]
            assert "has not returned" not in runs.get("reason", "")
            assert worker.call("DELETE", name).status_code == 204


def reasons_of(worker, name):
    answer = worker.call("GET", name, "/why")
    return {one["about"]: one["text"] for one in answer.json()} if answer.status_code == 200 else {}
