"""Wrong configurations are refused with every broken key named, or the task fails with a trace that says what to do."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys

import pytest
import requests
from e2e_s3 import sink_config

from connect.tools.services.process.ports import free_ports

CANARY = "s3cr3t-canary"


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "in.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT)")
    return path


def source_config(database, topic: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "JdbcSourceConnector", "connection.url": f"sqlite:///{database}", "mode": "incrementing",
        "incrementing.column.name": "id", "table.whitelist": "orders", "topic.prefix": topic, **more,
    }  # fmt: skip


def refused(answer) -> str:
    assert answer.status_code == 400, (answer.status_code, answer.text)
    body = answer.json()
    assert list(body) == ["error_code", "message"]
    assert CANARY not in answer.text
    return body["message"]


def test_an_unknown_class_is_named_with_those_there_are(worker, unique):
    message = refused(worker.create(unique, {"connector.class": "NoSuchThing"}))
    assert "which name matches NoSuchThing" in message
    assert "JdbcSourceConnector" in message


def test_every_broken_key_is_named_at_once(worker, database, unique):
    wrong = source_config(database, unique, mode="sometimes", **{"tasks.max": "none", "batch.max.rows": "-1"})
    message = refused(worker.create(unique, wrong))
    for key in ("mode", "tasks.max", "batch.max.rows"):
        assert f"for configuration {key}:" in message


def test_a_missing_required_key_is_named(worker, s3, s3_bucket, unique):
    config = sink_config(s3, s3_bucket, unique, unique)
    del config["s3.bucket.name"]
    assert 'Missing required configuration "s3.bucket.name"' in refused(worker.create(unique, config))


def test_a_database_that_cannot_be_opened_is_refused_without_its_password(worker, database, unique):
    path = database.parent / "no-such-folder" / "x.db"
    config = source_config(database, unique, **{"connection.url": f"sqlite:///{path}"})
    assert f"SQLite database {path}" in refused(worker.create(unique, config))
    config["connection.url"] += f"?password={CANARY}"
    assert "connection.url: the parameter password" in refused(worker.create(unique, config))


def test_a_missing_table_is_named(worker, database, unique):
    message = refused(worker.create(unique, source_config(database, unique, **{"table.whitelist": "nowhere"})))
    assert "nowhere" in message


def test_a_missing_bucket_is_named_without_the_secret(worker, s3, unique):
    message = refused(worker.create(unique, sink_config(s3, "no-such-bucket", unique, unique)))
    assert "no-such-bucket" in message
    assert s3.secret_access_key not in message


def test_wrong_credentials_are_refused_without_the_secret(worker, s3, s3_bucket, unique):
    config = sink_config(s3, s3_bucket, unique, unique, **{"aws.secret.access.key": CANARY})
    assert s3_bucket in refused(worker.create(unique, config))


def test_an_unreachable_store_is_named(worker, s3, s3_bucket, unique):
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    message = refused(worker.create(unique, sink_config(s3, s3_bucket, unique, unique, **{"store.url": url})))
    assert url in message or "store.url" in message


def test_a_secret_is_masked_in_every_answer(worker, s3, s3_bucket, unique):
    config = sink_config(s3, s3_bucket, unique, unique)
    answers = [worker.create(unique, config)]
    worker.wait_for_tasks(unique, "RUNNING")
    own = ("", "/config", "/tasks", "/status", "/offsets", "/topics", "/history")
    answers += [worker.call("GET", unique, path) for path in own]
    answers += [worker.call("PUT", unique, "/pause"), worker.call("POST", unique, "/restart?includeTasks=true")]
    answers += [requests.get(f"{worker.url}{path}", timeout=60) for path in ("/connectors?expand=info", "/metrics")]
    assert [answer.url for answer in answers if not answer.ok] == []
    for answer in answers:
        assert s3.secret_access_key not in answer.text, answer.url
    assert worker.call("GET", unique, "/config").json()["aws.secret.access.key"] == "[hidden]"
    validated = worker.validate(config["connector.class"], config)
    assert s3.secret_access_key not in json.dumps(validated)
    assert s3.secret_access_key not in worker.log_path.read_text()
    assert worker.call("DELETE", unique).status_code == 204


def test_a_worker_without_kafka_says_so_and_ends(tmp_path):
    port = free_ports(1)[0]
    file = tmp_path / "worker.properties"
    file.write_text(
        f"bootstrap.servers=127.0.0.1:{port}\ngroup.id=g\nconfig.storage.topic=c\noffset.storage.topic=o\n"
        f"status.storage.topic=s\nssl.key.password={CANARY}\nkey.converter=JsonConverter\nvalue.converter=JsonConverter\n"
        f"listeners=http://127.0.0.1:{free_ports(1)[0]}\n"
    )
    argv = [sys.executable, "-m", "connect.cli", "worker", str(file), "--set", "start.timeout.ms=3000"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert f"127.0.0.1:{port}" in done.stderr + done.stdout
    assert CANARY not in done.stderr + done.stdout
