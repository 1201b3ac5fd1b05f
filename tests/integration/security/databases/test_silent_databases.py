"""Checks a database that says nothing while a connector plans its tasks: the status says whom it waits for, and it goes
on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
import requests
from beside import Beside
from e2e_worker import wait_for
from server_relay import ServerRelay

from connect.tools.services.process.ports import free_ports
from connect.tools.services.sql import SqlEndpoint

pytestmark = pytest.mark.attacks


@pytest.fixture
def relay(postgres: SqlEndpoint) -> Iterator[ServerRelay]:
    relay = ServerRelay(free_ports(1)[0], postgres.port)
    relay.start()
    yield relay
    relay.cut()


def config(database: SqlEndpoint, port: int, table: str) -> dict[str, str]:
    return {
        "connector.class": "JdbcSourceConnector", "mode": "incrementing", "incrementing.column.name": "id",
        "connection.url": f"jdbc:postgresql://127.0.0.1:{port}/{database.database}", "table.whitelist": table,
        "connection.user": database.user, "connection.password": database.password, "topic.prefix": "silent-",
    }  # fmt: skip


@pytest.mark.parametrize("way", ["silent", "dripping"])
def test_a_connector_whose_database_says_nothing_tells_whom_it_waits_for_and_goes_on(
    beside: Beside, postgres: SqlEndpoint, relay: ServerRelay, unique: str, way: str
) -> None:
    with closing(psycopg.connect(
        host=postgres.host, port=postgres.port, user=postgres.user, password=postgres.password, dbname=postgres.database
    )) as connection, connection:  # fmt: skip
        connection.execute(f"CREATE TABLE {unique} (id INTEGER PRIMARY KEY)")
    stopped = {"name": unique, "config": config(postgres, relay.port, unique), "initial_state": "STOPPED"}
    made = requests.post(f"{beside.url}/connectors", json=stopped, timeout=60)
    assert made.status_code == 201, made.text
    getattr(relay, {"silent": "hold", "dripping": "drip"}[way])()
    with beside.unharmed():
        beside.worker.call("PUT", unique, "/resume")
        told = wait_for(lambda: _why(beside, unique), 60, f"a reason: {beside.worker.status(unique)}")
    assert "has not returned for 15 s" in told
    assert f"It asks connection.url=jdbc:postgresql://127.0.0.1:{relay.port}/{postgres.database}." in told
    assert "It waits for the source." in told
    assert postgres.password not in told
    assert "connector_planning_waits" in beside.worker.log_path.read_text()
    relay.flow()
    beside.worker.wait_for_tasks(unique, "RUNNING")
    status = requests.get(f"{beside.url}/connectors/{unique}/status", timeout=10).json()["connector"]
    assert "reason" not in status
    beside.delete(unique)


def _why(beside: Beside, name: str) -> str:
    """Return what `connect why` says of the connector itself, once that is a reason."""
    reasons = requests.get(f"{beside.url}/connectors/{name}/why", timeout=10).json()
    text = next((reason["text"] for reason in reasons if reason["about"] == f"connector {name}"), "")
    return text if "has not returned" in text else ""
