"""Checks `/poc`: evaluations one at a time, their progress and reports, and words for what is wrong with a request."""

from __future__ import annotations

from pathlib import Path

import pytest
from rest_client import Rest, ServerMaker

from connect.rest.jobs import evaluation_jobs
from connect.tools.services.process.polling import poll_until


@pytest.fixture(autouse=True)
def _sample_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation_jobs, "MODULE", "sample_evaluation")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def asked(wanted: str, **options: object) -> dict[str, object]:
    return {"connectors": [{"name": "c", "config": {"wanted": wanted}}], "options": options}


def begun(rest: Rest, wanted: str, **options: object) -> str:
    answer = rest("POST", "/poc", asked(wanted, **options))
    assert answer.status_code == 202, answer.text
    return f"/poc/{answer.json()['id']}"


def ended(rest: Rest, path: str) -> dict:
    poll_until(lambda: rest.get(path)["state"] != "RUNNING", deadline_s=20, waiting_for=path, fix="See the process.")
    return rest.get(path)


def test_an_evaluation_tells_its_progress_its_result_and_its_report(rest: Rest) -> None:
    path = begun(rest, "result", sample_rows=10, duration_s=1.5, show_values=True)
    found = ended(rest, path)
    assert (found["state"], found["result"], found["error"]) == ("DONE", {"verdict": "fits"}, None)
    assert found["progress"] == ["options [('duration_s', 1.5), ('sample_rows', 10), ('show_values', True)]"]
    report = rest("GET", f"{path}/report")
    assert (report.status_code, report.text) == (200, "<!DOCTYPE html>é")
    assert report.headers["Content-Type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize(("wanted", "said"), [("error", "no such connector"), ("end", "ended with 7")])
def test_one_that_fails_says_why_and_has_no_report(rest: Rest, wanted: str, said: str) -> None:
    path = begun(rest, wanted)
    found = ended(rest, path)
    assert found["state"] == "FAILED"
    assert said in found["error"]
    assert rest("GET", f"{path}/report").status_code == 409


def test_there_is_one_at_a_time_and_it_ends_with_the_worker(serve: ServerMaker, tmp_path: Path) -> None:
    from connect.rest.jobs.evaluation_jobs import EvaluationJobs

    jobs = EvaluationJobs({})
    mark = tmp_path / "ended"
    running = jobs.start([{"name": "c", "config": {"wanted": str(mark)}}], {})
    with pytest.raises(Exception, match=f"Evaluation {running.id} runs"):
        jobs.start([{"name": "c", "config": {"wanted": "result"}}], {})
    jobs.close()
    assert mark.read_text(encoding="utf-8") == "ended with its owner"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ([], "names no connectors"),
        ({"connectors": []}, "names no connectors"),
        ({"connectors": [{"name": "c"}]}, "has a name and a config"),
        ({"connectors": [{"name": 1, "config": {}}]}, "has a name and a config"),
        ({**asked("x"), "worker": {}}, "other members"),
        (asked("x", engine=1), "Option engine"),
        (asked("x", crashes=-1), "Option crashes"),
        (asked("x", crashes="3"), "Option crashes"),
        (asked("x", show_values=1), "Option show_values"),
        (asked("x", sample_rows=1.5), "Option sample_rows"),
    ],
)
def test_a_wrong_request_is_told_and_starts_nothing(rest: Rest, body: object, said: str) -> None:
    answer = rest("POST", "/poc", body)
    assert (answer.status_code, said in answer.json()["message"]) == (400, True), answer.text


def test_an_evaluation_that_is_not_there_is_404(rest: Rest) -> None:
    assert rest("GET", "/poc/poc-1").status_code == 404
    assert rest("GET", "/poc/poc-1/report").status_code == 404
