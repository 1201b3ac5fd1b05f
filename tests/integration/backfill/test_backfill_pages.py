"""Watches, pauses, resumes and cancels a backfill on the pages of its worker, without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from backfill_job import Table
from chromium import fits, needs_chromium, picture, violations
from e2e_worker import WorkerProcess, wait_for
from ui_reader import Reader

from connect.tools.services import KafkaEndpoint

ROWS = 2000


@pytest.fixture(scope="module")
def worker(kafka: KafkaEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    process = WorkerProcess(tmp_path_factory.mktemp("worker"), kafka.bootstrap_servers, "backfill-pages")
    process.start()
    yield process
    process.stop()


def figure(worker: WorkerProcess, sample: str) -> float:
    """A sample on the worker's /metrics; 0 where it is not there."""
    lines = requests.get(f"{worker.url}/metrics", timeout=60).text.splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{sample} ")), 0.0)


@needs_chromium
def test_a_backfill_is_watched_paused_resumed_and_cancelled(
    table: Table, worker: WorkerProcess, browser: Any, axe: str, tmp_path: Path
) -> None:
    table.fill(ROWS)
    stopped = {"name": table.name, "config": table.connector(), "initial_state": "STOPPED"}
    assert requests.post(f"{worker.url}/connectors", json=stopped, timeout=90).status_code == 201
    spec = {
        "apiVersion": "backfill/v1", "name": table.name, "source": {"connector": table.name},
        "engine": {"type": "local"}, "chunking": {"rows": 100, "lanes": 1}, "limits": {"max_rows_per_second": 15},
    }  # fmt: skip
    made = requests.post(f"{worker.url}/backfills", json=spec, timeout=90)
    assert made.status_code == 201, made.text
    reader, path = Reader(worker.url), f"/ui/backfill?name={table.name}"
    page = reader.open("/ui/backfills")
    assert (page.unclosed, table.name in page.text) == ([], True)
    page = reader.open(path)
    assert (page.status, page.unclosed) == (200, [])
    assert "of 20" in page.text
    assert "max rows per second 15" in page.text

    shown = browser.new_page()
    for width, scheme in ((360, "dark"), (1280, "light")):
        shown.set_viewport_size({"width": width, "height": 800})
        shown.emulate_media(color_scheme=scheme)
        for name, address in (("jobs", "/ui/backfills"), ("job", path)):
            shown.goto(worker.url + address)
            shown.screenshot(path=tmp_path / f"{name}-{width}-{scheme}.png", full_page=True)
            assert violations(shown, axe) == []
            assert fits(shown)
    shown.goto(f"{worker.url}/ui/backfills")
    picture(shown, "ui-backfills", tmp_path, table.name, "RUNNING", "Rows, as planned", "Chunks", until="main")
    shown.close()

    label, done = f'{{backfill="{table.name}"}}', "kafka_connect_backfill_done_rows"
    wait_for(lambda: figure(worker, f"{done}{label}") > 0, 120, "the job's rows on /metrics")
    assert figure(worker, f"kafka_connect_backfill_planned_rows{label}") == ROWS
    assert figure(worker, f"kafka_connect_backfill_eta_seconds{label}") > 10
    assert figure(worker, f'kafka_connect_backfill_status{{backfill="{table.name}",status="running"}}') == 1

    page = reader.press(page, "pause")
    assert (page.status, "The job pauses" in page.text) == (200, True)
    wait_for(lambda: {"resume", "pause"} & {*reader.open(path).buttons()} == {"resume"}, 90, "a job that rests")
    page = reader.press(reader.open(path), "resume")
    assert (page.status, "The job goes on" in page.text) == (200, True)
    assert "type its name" in reader.press(page, "cancel", "cancel", confirm="x").text
    before = reader.open(path)
    page = reader.press(before, "cancel", "cancel", confirm=table.name)
    assert (page.status, "ends for good" in page.text) == (200, True)
    wait_for(lambda: "CANCELLED" in reader.open(path).text, 90, "the end of the job")
    assert reader.press(before, "resume", "cancel").status == 409
    assert reader.press(before, "delete", "cancel").status == 400
    assert reader.open("/ui/backfill?name=none").status == 404
