"""Checks offsets that a person gives by REST: what is wrong is a 400 that names it, and nothing of the request is
written.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import requests
from e2e_orders import source_config
from e2e_worker import WorkerProcess, wait_for

TABLE = {"protocol": "1", "table": "orders"}
HUGE = 10**30


def call(worker: WorkerProcess, method: str, name: str, body: Any = None) -> requests.Response:
    return requests.request(method, f"{worker.url}/connectors/{name}/offsets", json=body, timeout=60)


def stop(worker: WorkerProcess, name: str, config: dict[str, str]) -> str:
    """A connector that was created and never ran."""
    body = {"name": name, "config": config, "initial_state": "STOPPED"}
    assert requests.post(f"{worker.url}/connectors", json=body, timeout=60).status_code == 201
    wait_for(lambda: worker.status(name), 60, "a status")
    return name


@pytest.fixture(scope="module")
def source(worker: WorkerProcess, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A stopped source of a database."""
    path: Path = tmp_path_factory.mktemp("given") / "orders.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT)")
    return stop(worker, "given-offsets", source_config(path, "given-"))


@pytest.fixture(scope="module")
def sink(worker: WorkerProcess, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A stopped sink into a file."""
    file = tmp_path_factory.mktemp("given-sink") / "out.txt"
    config = {"connector.class": "FileStreamSink", "topics": "given-orders", "file": str(file)}
    return stop(worker, "given-sink", config)


@pytest.mark.parametrize(
    ("partition", "offset", "named"),
    [
        (TABLE, {"incrementing": "7"}, "offset.incrementing"),
        (TABLE, {"incrementing": 1.5}, "offset.incrementing"),
        (TABLE, {"incrementing": {"at": [7]}}, "offset.incrementing"),
        (TABLE, {"incrementing": HUGE}, "offset.incrementing"),
        (TABLE, {"incrementing": {"at": [HUGE]}}, "offsets[1].offset.incrementing"),
        (TABLE | {"range": HUGE}, {"incrementing": 7}, "partition.range"),
        (TABLE, {"incrementing": 7, "timestamp": "now"}, "offset.timestamp"),
        ({"tabel": "orders"}, {"incrementing": 7}, "partition"),
        (TABLE, {"incrementng": 7}, "offset"),
    ],
    ids=str,
)
def test_a_wrong_offset_of_a_source_is_named(
    worker: WorkerProcess, source: str, partition: dict[str, Any], offset: dict[str, Any], named: str
) -> None:
    good = {"partition": TABLE | {"range": 1}, "offset": {"incrementing": 3}}
    body = {"offsets": [good, {"partition": partition, "offset": offset}]}
    refused = call(worker, "PATCH", source, body)
    assert (refused.status_code, named in refused.json()["message"]) == (400, True), refused.text
    assert call(worker, "GET", source).json() == {"offsets": []}


@pytest.mark.parametrize("number", [HUGE, 1.5, "x", {"at": 1}, [1], -1, True], ids=str)
def test_a_wrong_offset_of_a_sink_is_named(worker: WorkerProcess, sink: str, number: Any) -> None:
    place = {"kafka_topic": "given-orders", "kafka_partition": 0}
    for partition, offset in ((place, number), (place | {"kafka_partition": number}, 7)):
        body = {"offsets": [{"partition": partition, "offset": {"kafka_offset": offset}}]}
        refused = call(worker, "PATCH", sink, body)
        assert refused.status_code == 400, refused.text
        assert any(text in refused.json()["message"] for text in ("need to be integers", "may not be negative"))


def test_a_right_offset_of_a_source_is_written(worker: WorkerProcess, source: str) -> None:
    body = {"offsets": [{"partition": TABLE, "offset": {"incrementing": 7}}]}
    assert call(worker, "PATCH", source, body).status_code == 200
    assert call(worker, "GET", source).json() == body
    assert call(worker, "DELETE", source).status_code == 200


def test_an_offset_of_a_misspelt_table_is_told_at_once_and_in_the_status(worker: WorkerProcess, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "orders.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT)")
    name = stop(worker, "misspelt-offset", source_config(tmp_path / "orders.db", "misspelt-"))
    position = {"partition": TABLE | {"table": "ordres"}, "offset": {"incrementing": 7}}
    answer = call(worker, "PATCH", name, {"offsets": [position]})
    said = "An offset was set of table ordres, which this connector does not read: it has no effect. Is orders meant?"
    assert answer.status_code == 200, answer.text
    message = answer.json()["message"]
    assert message.startswith("The offsets for this connector have been altered successfully. An offset was set")
    assert said in message
    assert requests.put(f"{worker.url}/connectors/{name}/resume", timeout=60).status_code == 202
    wait_for(lambda: any(said in note for note in worker.status(name).get("notes", ())), 60, "a note in the status")
    why = requests.get(f"{worker.url}/connectors/{name}/why", timeout=60).json()
    assert any(said in reason["text"] for reason in why), why
