"""Uses `connect poc` as a person does: on a source that fits, on one that repeats rows, on ones that cannot work."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys

import psutil
import pytest
from chromium import needs_chromium, picture

AVRO = "io.confluent.connect.avro.AvroConverter"
JDBC = "io.confluent.connect.jdbc.JdbcSourceConnector"


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT, amount REAL, data BLOB)")
        connection.execute("CREATE TABLE empty (id INTEGER PRIMARY KEY)")
        rows = ((i, None if i % 7 == 0 else f"order {i} é😀", i / 3, bytes([i % 256])) for i in range(1, 20_001))
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
    return path


def source(database, **more):
    return {
        "connector.class": JDBC, "connection.url": f"sqlite:///{database}", "mode": "incrementing",
        "incrementing.column.name": "id", "table.whitelist": "orders", "topic.prefix": "shop-",
        "poll.interval.ms": "100", "batch.max.rows": "500", "exactly.once.support": "required", **more,
    }  # fmt: skip


def poc(tmp_path, config, *options):
    """Exit code, result, what was printed; nothing that was started is left."""
    file, result = tmp_path / "connector.json", tmp_path / "result.json"
    file.write_text(json.dumps({"name": "shop", "config": config}))
    argv = [
        sys.executable,
        "-m",
        "connect.cli",
        "poc",
        str(file),
        "--out",
        str(tmp_path / "report.html"),
        "--json",
        str(result),
    ]
    environ = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir(exist_ok=True)
    with subprocess.Popen(
        [*argv, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ
    ) as process:
        printed, _ = process.communicate(timeout=400)
    left = [
        p for p in psutil.process_iter(["cmdline"]) if any(str(tmp_path / "tmp") in a for a in p.info["cmdline"] or ())
    ]
    assert left == []
    assert list((tmp_path / "tmp").iterdir()) == []
    return process.returncode, json.loads(result.read_text()) if result.exists() else None, printed


def outcomes(result):
    return {check["name"]: check["outcome"] for check in result["checks"]}


def assert_fits_and_hides_values(tmp_path, printed):
    page = (tmp_path / "report.html").read_text()
    assert "This connector fits." in page
    for shown in (page, (tmp_path / "result.json").read_text(), printed):
        assert [text for text in ("order 1", "é😀", "\\u00e9") if text in shown] == []
    assert len(page) < 1_000_000


@pytest.mark.chaos
@needs_chromium
def test_a_source_that_fits_passes_every_check_and_leaves_nothing_behind(database, browser, tmp_path):
    code, result, printed = poc(tmp_path, source(database), "--seed", "3")
    assert code == 0, printed
    found = outcomes(result)
    assert set(found.values()) == {"pass"}, printed
    assert {"Delivery under kills", "Schema change", "Load and cost"} <= set(found)
    assert_fits_and_hides_values(tmp_path, printed)
    page = browser.new_page(viewport={"width": 1100, "height": 640}, device_scale_factor=0.8)
    page.goto((tmp_path / "report.html").as_uri())
    picture(
        page,
        "poc-report",
        tmp_path,
        "This connector fits.",
        "Discovery",
        "Throughput",
        "Delivery under kills",
        until="table >> nth=0",
    )


def test_what_cannot_work_ends_in_a_report_that_says_so(database, tmp_path):
    code, result, printed = poc(tmp_path, source(database, mode="sometimes"))
    assert (code, outcomes(result)["Configuration"]) == (2, "fail"), printed
    code, result, printed = poc(tmp_path, source(database, **{"table.whitelist": "empty"}))
    assert (code, outcomes(result)["Discovery"]) == (1, "warn"), printed


def test_schemas_are_written_to_a_registry_of_its_own_and_a_file_holds_the_address(database, tmp_path):
    secrets = tmp_path / "secrets.properties"
    secrets.write_text(f"url=sqlite:///{database}\n")
    nowhere = {
        f"{part}.converter{key}": value
        for part in ("key", "value")
        for key, value in (("", AVRO), (".schema.registry.url", "http://127.0.0.1:1"))
    }
    kept = {"connection.url": f"${{file:{secrets}:url}}", **nowhere}
    code, result, printed = poc(tmp_path, source(database, **kept), "--crash", "0", "--budget-rows", "2000")
    assert code == 0, printed
    assert {outcomes(result).get(name) for name in ("Round trip", "Throughput", "Schema change")} == {"pass"}, printed
    assert_fits_and_hides_values(tmp_path, printed)


def test_a_class_that_is_not_there_could_not_be_tested(tmp_path):
    code, result, printed = poc(tmp_path, {"connector.class": "NoSuch"})
    assert (code, result) == (3, None)
    assert "NoSuch" in printed
    assert "Traceback" not in printed
