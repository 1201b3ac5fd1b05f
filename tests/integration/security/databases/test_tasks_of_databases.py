"""A task whose database answers without an end costs its process, and nobody else's rows; it can be taken away."""

from __future__ import annotations

import json
from collections.abc import Callable

import hostile_mysql as mysql
import hostile_postgres as postgres
import pytest
from beside import Beside
from confluent_kafka import Producer
from database_server import PASSWORD
from e2e_worker import wait_for
from test_checks_of_databases import MOST_MEMORY_MIB, config, running

SHORT = "rows without an end"
CASES = [
    pytest.param(kind, script, id=f"{kind}: {name}", marks=[] if name == SHORT else [pytest.mark.chaos])
    for kind, scripts in (("mysql", mysql.ENDLESS | mysql.ROWS), ("postgresql", postgres.ENDLESS | postgres.ROWS))
    for name, script in scripts.items()
    if name in {SHORT, *mysql.ROWS, *postgres.ROWS}
]
"""A database that drips is not among them: its connector's tasks are never planned, see the checks."""


@pytest.mark.parametrize(("kind", "script"), CASES)
def test_a_task_of_a_hostile_database_harms_nobody(
    beside: Beside, unique: str, kind: str, script: Callable[..., None]
) -> None:
    name = f"hostile-{unique}"
    with beside.unharmed(), beside.within_memory(MOST_MEMORY_MIB), running(kind, script) as (port, heard):
        plant(beside, name, config(kind, port))
        wait_for(lambda: asked(heard), 120, "the task's question to its database")
        said = wait_for(lambda: has_ended(beside, name), 120, f"an end of the task, {beside.worker.status(name)}")
        beside.delete(name)
        wait_for(lambda: beside.worker.status(name) == {}, 120, "the end of the connector")
    assert PASSWORD not in said
    assert "\x1b" not in said


def asked(heard: bytearray) -> bool:
    """Tell if a statement has come after the sign-in."""
    return b"Kx7 AS a" in heard


def has_ended(beside: Beside, name: str) -> str:
    """Return what is said of the task once it fails, is held up, or has waited for a while; empty: not yet."""
    tasks = beside.worker.status(name).get("tasks", [])
    return json.dumps(tasks) if any(task["state"] in {"FAILED", "RUNNING"} for task in tasks) else ""


def plant(beside: Beside, name: str, given: dict[str, str]) -> None:
    """Write a connector where REST would check it first, and find that its database is none."""
    producer = Producer({"bootstrap.servers": beside.bootstrap_servers})
    order = {"properties": {"name": name, "tasks.max": "1", **given}}
    producer.produce(beside.worker.properties["config.storage.topic"], json.dumps(order), f"connector-{name}", 0)
    assert producer.flush(60) == 0
