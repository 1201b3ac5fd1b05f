"""Checks that `connect backfill plan` estimates a job's time from the job before it, and says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from backfill_job import Table
from click.testing import CliRunner

from connect.backfill.engines.local import LocalEngine
from connect.backfill.estimate import COMMAND_S
from connect.cli.backfill import backfill
from connect.lib.deadline import Deadline

ROWS, ROWS_PER_SECOND = 6000, 1500


def planned(table: Table, folder: Path, name: str, *arguments: str) -> str:
    """What the command says of a job."""
    worker, spec, config = (folder / one for one in ("worker.properties", "job.yaml", "c.json"))
    worker.write_text("".join(f"{key}={text}\n" for key, text in table.worker_properties().items()))
    config.write_text(json.dumps({"name": table.name, "config": table.connector()}))
    spec.write_text(
        f"apiVersion: backfill/v1\nname: {name}\nsource: {{connector: {table.name}, config: c.json}}\n"
        f"engine: {{type: local}}\nchunking: {{rows: 300, lanes: 2}}\nstate: {{jobs_topic: {table.name}-jobs}}\n"
    )
    done = CliRunner().invoke(backfill, ["plan", str(spec), "--worker", str(worker), *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def run(table: Table, name: str) -> float:
    """Run a job at a pace that is the same each time; seconds from its plan to its last marker."""
    limits = {"max_rows_per_second": ROWS_PER_SECOND}
    spec: dict[str, Any] = {"name": name, "chunking": {"rows": 300, "lanes": 2}, "limits": limits}
    with table.driver(**spec) as driver:
        job = driver.run(LocalEngine(2, 3))
        written = [marker.written_ms for marker in driver.store.all_markers(Deadline.after(30))]
    return (max(written) - job.created_ms) / 1000


def test_the_duration_is_that_of_the_last_job_and_its_basis_is_named(table: Table, tmp_path: Path) -> None:
    table.fill(ROWS)
    first, second = f"{table.name}-1", f"{table.name}-2"
    assert "rule of thumb, as no job of this kind" in planned(table, tmp_path, first)
    took_s = run(table, first)
    told = json.loads(planned(table, tmp_path, second, "--json"))["estimate"]
    assert told["basis"].startswith(f"job {first} wrote ")
    assert f"job {first} wrote" in planned(table, tmp_path, second)
    # Of the same rows, so as long as they took; what another run takes is also a matter of what runs beside it.
    assert told["duration_s"] == pytest.approx(COMMAND_S + took_s, rel=0.3)
