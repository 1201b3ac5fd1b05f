"""Checks the page of the doctor, over a cluster in memory whose facts are given."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from rest_client import Rest, ServerMaker
from test_rest_ui import HOSTILE, Failing
from ui_reader import Reader

from connect.doctor.model.facts import Facts
from connect.kafka.admin.cluster_state import ClusterState


@pytest.fixture(autouse=True)
def facts(monkeypatch: pytest.MonkeyPatch) -> None:
    def gathered(worker: Any, _: Any, connectors: Any, configs: Any, **more: Any) -> Facts:
        del configs
        told = Facts(worker, datetime.now(UTC), kafka=ClusterState(trouble="<b>No broker</b> answers."), **more)
        return replace(told, connectors=connectors)

    monkeypatch.setattr("connect.rest.resources.doctor.gathered", gathered)


def test_the_page_shows_what_rest_finds(rest: Rest) -> None:
    rest.create("a", **{"tasks.maxx": "1"})
    findings = rest.get("/doctor")["findings"]
    page = Reader(rest.url).open("/ui/doctor")
    assert (page.status, page.unclosed) == (200, [])
    assert findings[0]["severity"] == "error"
    for finding in findings:
        for member in ("severity", "subject", "evidence", "why"):
            assert " ".join(finding[member].split()) in page.text
    assert "<b>No broker</b> answers." in page.text


def test_a_task_that_failed_is_an_error_with_the_first_line_of_its_trace(serve: ServerMaker) -> None:
    rest = serve(Failing())
    rest.create("orders")
    (failed,) = [one for one in rest.get("/doctor")["findings"] if one["name"] == "failed"]
    assert (failed["severity"], failed["subject"]) == ("error", "connector orders")
    assert failed["evidence"] == "The task 0 is FAILED: Traceback: <b>boom</b>"


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_hostile_names_are_text_for_the_doctor_too(rest: Rest, name: str) -> None:
    rest.operations.connectors.create(name, {"connector.class": "x.Source", "name": name}, None)
    page = Reader(rest.url).open("/ui/doctor")
    assert (page.status, page.unclosed) == (200, [])
    assert not [tag for tag, values in page.elements if tag == "script" and "src" not in values]
    assert not [values for _, values in page.elements if "onerror" in values]
    assert "\u202e" not in page.html
