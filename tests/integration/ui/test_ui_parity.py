"""Checks that REST and the commands say what each screen of a real worker shows: names, states, counts, places."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest
import requests
from click.testing import CliRunner
from e2e_worker import wait_for
from ui_reader import Reader

from connect.cli import main
from connect.rest.ui.frame.pages import HTML
from connect.rest.ui.screens import (
    backfills,
    connector,
    doctor,
    edit,
    flow,
    history,
    letters,
    offsets,
    overview,
    plugins,
    reports,
    sample,
)

SCREENS = (overview, connector, edit, plugins, offsets, letters, backfills, reports, sample, history, flow, doctor)
ELSEWHERE = {
    "/ui/backfill": "tests/integration/backfill/test_backfill_pages.py, which has a job",
    "/ui/letters": "tests/integration/ui/test_ui_letters.py, which has letters",
    "/ui/backfills": "tests/integration/backfill/test_backfill_pages.py, which has a job",
    "/ui/reports": "tests/unit/rest/test_rest_ui_reports.py, which has reports",
}
SOURCE, FAILED = "orders-source", "bills-to-lake"


class Screen(NamedTuple):
    """A page, the resource and the command that say the same, and what of the resource's answer has to be on both."""

    query: str
    resource: str
    command: str
    facts: Callable[[Any], Iterable[str]]


def of_status(found: Any) -> Iterable[str]:
    for task in found["tasks"]:
        yield from (task["state"], task["worker_id"])
        yield from filter(None, [task.get("reason")])


SAME = {
    "/ui": Screen(
        "", "/connectors?expand=status", "connectors list",
        lambda found: [fact for name, one in found.items() for fact in (name, one["status"]["tasks"][0]["state"])],
    ),
    "/ui/connector": Screen(
        f"?name={FAILED}", f"/connectors/{FAILED}/status", f"connectors status {FAILED}", of_status,
    ),
    "/ui/edit": Screen(
        f"?name={SOURCE}", f"/connectors/{SOURCE}/config", f"connectors get {SOURCE}",
        lambda found: [text for pair in found.items() for text in pair],
    ),
    "/ui/plugins": Screen(
        "", "/connector-plugins?connectorsOnly=false", "plugins --json",
        lambda found: [one["class"] for one in found],
    ),
    "/ui/plugin": Screen(
        "?class=FileStreamSource", "/connector-plugins/FileStreamSource/config", "reference",
        lambda found: [one["name"] for one in found if not one["name"].startswith("errors.deadletterqueue")],
    ),
    "/ui/offsets": Screen(
        f"?name={SOURCE}", f"/connectors/{SOURCE}/offsets", f"connectors offsets {SOURCE}",
        lambda found: [str(value) for one in found["offsets"] for part in one.values() for value in part.values()],
    ),
    "/ui/sample": Screen(
        f"?name={SOURCE}", f"/connectors/{SOURCE}/sample", f"connectors sample {SOURCE}",
        lambda found: [f"line {number} is no JSON" for number in range(3)],
    ),
    "/ui/history": Screen(
        f"?name={SOURCE}", f"/connectors/{SOURCE}/history", f"connectors history {SOURCE}",
        lambda found: [str(one["version"]) for one in found["configs"]]
        + [fact for one in found["states"] for fact in (one["state"], one["worker_id"])]
        + [worker for one in found["rebalances"] for worker in (one["leader"], *one["workers"])],
    ),
    "/ui/flow": Screen("", "/flow", "flow", lambda found: [node["name"] for node in found["nodes"]]),
    "/ui/doctor": Screen(
        "", "/doctor", "doctor",
        lambda found: [one["subject"] for one in found["findings"] if one["severity"] == "error"],
    ),
}  # fmt: skip


def test_every_screen_is_compared_here_or_where_it_has_data() -> None:
    paths = {
        route.path for screen in SCREENS for route in screen.ROUTES if (route.method, route.produces) == ("GET", HTML)
    }
    assert paths == SAME.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("path", SAME)
def test_rest_and_the_command_say_what_the_screen_shows(bed: Any, path: str) -> None:
    screen = SAME[path]
    stored = f"{bed.url}/connectors/{SOURCE}/offsets"
    wait_for(lambda: requests.get(stored, timeout=60).json()["offsets"], 60, "offsets")
    answer = requests.get(bed.url + screen.resource, timeout=120)
    assert answer.status_code == 200, answer.text
    facts = set(map(unbroken, screen.facts(answer.json())))
    assert facts, "the resource says something"
    page = Reader(bed.url).open(path + screen.query)
    shown = unbroken(page.text + json.dumps([*page.areas.values(), *page.fields.values()], ensure_ascii=False))
    typed = CliRunner().invoke(main, screen.command.split(), env={"CONNECT_URL": bed.url, "COLUMNS": "1000"})
    assert {fact for fact in facts if fact not in shown} == set(), page.text
    assert {fact for fact in facts if fact not in unbroken(typed.output)} == set(), typed.output


def unbroken(text: str) -> str:
    """The text without spaces: tables break lines where they must."""
    return "".join(text.split())
