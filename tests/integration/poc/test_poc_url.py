"""Runs `connect poc postgresql://… --table … --to …` on a real PostgreSQL, with rights and without."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from sql_services import installed

from connect.tools.services.postgres import PostgresService

PASSWORD = "hunter-2222"
LIMIT_S = 400.0


@pytest.fixture(scope="module")
def shop():
    """A database with a table that `reader` may read and one that it may not; its address."""
    import psycopg

    with installed(PostgresService()) as service:
        at = service.endpoint
        with psycopg.connect(
            host=at.host, port=at.port, user=at.user, password=at.password, dbname=at.database, autocommit=True
        ) as connection:
            for table in ("orders", "salaries"):
                connection.execute(f"CREATE TABLE {table} (id bigserial PRIMARY KEY, name text NOT NULL)")
                connection.execute(f"INSERT INTO {table} (name) SELECT 'row ' || i FROM generate_series(1, 3000) i")
            connection.execute(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
            connection.execute("GRANT SELECT ON orders TO reader")
        yield f"{at.host}:{at.port}/{at.database}"


def poc(shop, folder, table, *options):
    """Exit code, result, and all texts that were shown or written for others to read."""
    url = f"postgresql://reader:{PASSWORD}@{shop}"
    argv = [sys.executable, "-m", "connect.cli", "poc", url, "--table", table, "--json", "result.json", *options]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    texts = [done.stdout + done.stderr, *((folder / name).read_text() for name in ("report.html", "result.json"))]
    assert [text for text in texts if PASSWORD in text] == []
    return done.returncode, json.loads(texts[-1]), texts[0]


def outcomes(result):
    return {(check["connector"], check["name"]): check["outcome"] for check in result["checks"]}


@pytest.mark.chaos
def test_a_table_goes_to_a_target_without_any_file(shop, tmp_path):
    target = tmp_path / "out.txt"
    options = ("--to", f"file://{target}", "--sample", "500", "--duration", "60s", "--crash", "1", "--seed", "1")
    code, result, printed = poc(shop, tmp_path, "orders", *options)
    found = outcomes(result)
    assert code in {0, 1}, printed
    assert {found["poc-source", name] for name in ("Reach", "Round trip", "Throughput")} == {"pass"}, printed
    assert {found["poc-sink", name] for name in ("Round trip", "Throughput")} == {"pass"}, printed
    assert found["poc-source", "Load and cost"] == "pass"
    assert not target.exists()
    written = json.loads((tmp_path / "poc-source.json").read_text())
    assert written["config"]["table.whitelist"] == "orders"
    assert (tmp_path / "poc-sink.json").exists()


def test_a_table_that_may_not_be_read_is_said_to(shop, tmp_path):
    code, result, printed = poc(shop, tmp_path, "salaries")
    assert code == 2, printed
    assert "permission denied for table salaries" in json.dumps(result)
    (reach,) = (check for check in result["checks"] if check["name"] == "Reach")
    assert reach["outcome"] == "fail"
    assert reach["tables"][-1]["rows"] == [['GRANT SELECT ON "public"."salaries" TO "reader";']]
