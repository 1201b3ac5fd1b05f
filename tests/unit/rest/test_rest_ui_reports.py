"""Checks evaluations and backfills on pages, over a cluster in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rest_client import Rest, ServerMaker
from test_rest_evaluations import begun, ended
from ui_reader import Reader

from connect.rest.jobs import evaluation_jobs
from connect.rest.ui.views.backfills import CHUNKS, job_line, job_page

JOB: dict[str, Any] = {
    "name": "orders", "spec": {"name": "orders", "kind": "copy"}, "state": "RUNNING", "chunks": 4, "rows": 2000,
    "size_bytes": 1, "following": [], "statements": [], "warnings": ["<b>slow</b>"], "created_ms": 0,
    "updated_ms": 1_700_000_000_000, "error": None, "worker": "w:1", "group": "g", "runs_here": True,
    "not_adopted": None,
}  # fmt: skip


@pytest.fixture
def rest(serve: ServerMaker, monkeypatch: pytest.MonkeyPatch) -> Rest:
    monkeypatch.setattr(evaluation_jobs, "MODULE", "sample_evaluation")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    return serve()


def test_evaluations_are_listed_with_their_verdicts_and_reports(rest: Rest) -> None:
    reader = Reader(rest.url)
    assert "None yet" in reader.open("/ui/reports").text
    for wanted in ("result", "error"):
        ended(rest, begun(rest, wanted))
    page = reader.open("/ui/reports")
    assert (page.status, page.unclosed) == (200, [])
    for text in ("DONE", "fits", "FAILED", "no such connector"):
        assert text in page.text
    (report,) = [link for link in page.links() if link.startswith("/poc/")]
    assert reader.open(report).status == 200


def test_a_job_is_shown_with_what_is_left_first() -> None:
    chunks = [
        {"id": f"c{n}", "planned_rows": 500, "done": n != 3, "read": 0, "rows": 0, "size_bytes": 0} for n in range(4)
    ]
    progress = {"chunks": 4, "chunks_done": 3, "rows": 2000, "rows_done": 1500}
    found = job_page(JOB | {"progress": progress, "limits": {"max_rows_per_second": 5, "window": ""}}, chunks)
    assert (found.percent, found.chunks[0]["id"], list(found.actions)) == (
        75,
        "c3",
        ["run", "paused", "limited", "cancelled"],
    )
    assert found.limits == [("max rows per second", "5")]
    assert (found.line.kind, found.line.updated) == ("copy", "2023-11-14 22:13:20 UTC")
    many = job_page(JOB | {"progress": progress | {"chunks": 0}, "limits": {}}, chunks * 1000)
    assert (len(many.chunks), many.chunk_count, many.percent) == (CHUNKS, 4000, 0)


@pytest.mark.parametrize(("silent_s", "offered"), [(None, False), (60.0, False), (61.0, True)])
def test_a_running_job_can_be_resumed_once_nothing_comes_of_it(silent_s: float | None, offered: bool) -> None:
    progress = {"chunks": 4, "chunks_done": 3, "rows": 2000, "rows_done": 1500, "silent_s": silent_s}
    found = job_page(JOB | {"progress": progress, "limits": {}}, [])
    assert ("resumed" in found.actions) == offered
    paused = job_page(JOB | {"state": "PAUSED", "progress": progress, "limits": {}}, [])
    assert ("resumed" in paused.actions, "paused" in paused.actions) == (True, False)


def test_a_job_that_cannot_be_read_says_why() -> None:
    line = job_line({"name": "odd", "unreadable": "it is of a later release"})
    assert (line.state, line.why) == ("UNREADABLE", "it is of a later release")
    assert job_line(JOB | {"not_adopted": "no Spark here"}).why == "no Spark here"
