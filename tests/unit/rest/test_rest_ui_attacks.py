"""Forms of the web UI, posted by somebody who means no good, or by accident: nothing is broken and nothing is done."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import pytest
import requests
from rest_client import Rest, ServerMaker
from ui_reader import Reader

from connect.cluster.model.connector_values import PartitionOffset
from connect.rest.resources import backfills
from connect.rest.ui import site
from connect.rest.ui.frame.forms import fields_of

POSTS: Final = [route.path for route in site.ROUTES if route.method == "POST"]
FORMS: Final = {
    "/ui/connector": ("act", "restart"),
    "/ui/edit": ("edit", "apply"),
    "/ui/offsets": ("forget-offsets", "reset"),
    "/ui/history": ("act", "rollback 1"),
    "/ui/letters": ("act", "replay"),
    "/ui/backfill": ("cancel", "cancel"),
}
"""The form of each page, and a button of it."""
HOSTILE: Final = [
    "", " ", "..", "\0", "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>'", "{{ 7*7 }}", "\u202eevil",
    "😀" * 80, "é" * 249, "9" * 400, "-1", "x" * 100_000, "\ud800", "a\r\nSet-Cookie: x=1", "%00%ff", "null", "[1",
    "{}",
]  # fmt: skip


class Jobs:
    """Backfills in memory, in place of Kafka."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.state = "RUNNING"

    def job(self, name: str) -> dict[str, Any]:
        if name != "a":
            from connect.backfill.service import NoSuchBackfillError

            raise NoSuchBackfillError(f"There is no backfill {name}.")
        spec = {"source": {"connector": "a"}}
        return {
            "name": "a", "state": self.state, "spec": spec, "created_ms": 1, "updated_ms": 1, "chunks": 1, "rows": 1,
            "worker": "", "warnings": [], "limits": {}, "progress": {
                "chunks": 1, "chunks_done": 0, "rows_done": 0, "rows_per_second": 0.0, "eta_s": None, "lanes": 1,
            },
        }  # fmt: skip

    backfill = job

    def chunks(self, name: str) -> list[Any]:
        del name
        return []

    def backfills(self) -> list[dict[str, Any]]:
        return [self.job("a")]

    def pause(self, name: str) -> None:
        self.done.append(f"pause {name}")

    def cancel(self, name: str) -> None:
        self.done.append(f"cancel {name}")


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Jobs:
    made = Jobs()
    monkeypatch.setattr(backfills._Service, "_service", lambda self: made)
    return made


def stopped(rest: Rest) -> list[PartitionOffset]:
    """A connector that was changed once, with offsets; its letters have no topic."""
    rest.create("a", "STOPPED")
    rest("PUT", "/connectors/a/config", rest.get("/connectors/a/config") | {"batch.size": "7"})
    rest.operations.cluster.offsets["a"] = kept = [PartitionOffset({"n": 1}, {"at": 1})]
    return kept


def form_of(reader: Reader, path: str) -> dict[str, str]:
    """What the browser would send of a page's form."""
    form, do = FORMS[path]
    page = reader.open(f"{path}?name=a")
    if path == "/ui/letters":  # the form needs letters, which are in Kafka
        page, form = reader.open("/ui/connector?name=a"), "act"
    assert page.status == 200, page.text
    fields = page.fields[form] | ({"config": page.areas["config"]} if path == "/ui/edit" else {})
    return fields | {"do": do} | ({"confirm": "a"} if "confirm" in fields else {})


def post(reader: Reader, path: str, fields: dict[str, str]) -> requests.Response:
    data = {key: value.encode("utf-8", "surrogatepass") for key, value in fields.items()}
    headers = {"Origin": reader.url}
    return reader.session.post(reader.url + path, data=data, headers=headers, timeout=60, allow_redirects=False)


def done(rest: Rest, jobs: Jobs) -> tuple[object, ...]:
    """All that forms may change."""
    cluster = rest.operations.cluster
    return (
        list(cluster.restarts), dict(cluster.targets), {k: list(v) for k, v in cluster.offsets.items()},
        {name: len(found) for name, found in cluster.versions.items()}, list(jobs.done),
    )  # fmt: skip


def test_each_form_is_attacked() -> None:
    assert sorted(FORMS) == sorted(POSTS)


@pytest.mark.parametrize("path", FORMS)
def test_a_form_that_lacks_a_field_does_nothing(rest: Rest, jobs: Jobs, path: str) -> None:
    stopped(rest)
    reader = Reader(rest.url)
    fields, before = form_of(reader, path), done(rest, jobs)
    for name in [*fields, ""]:
        if name == "once":
            continue  # tells a second click from another one, and is all that it does
        answer = post(reader, path, {key: value for key, value in fields.items() if name and key != name})
        assert 400 <= answer.status_code < 500, (name, answer.status_code, answer.text)
        assert answer.headers["Content-Type"].startswith("text/html")
    assert done(rest, jobs) == before


@pytest.mark.parametrize("path", FORMS)
def test_a_field_with_something_else_in_it_does_nothing(rest: Rest, jobs: Jobs, path: str) -> None:
    stopped(rest)
    reader = Reader(rest.url)
    fields, before = form_of(reader, path), done(rest, jobs)
    for name in fields.keys() - {"once"}:
        for value in HOSTILE:
            if (path, name, value) == ("/ui/edit", "config", "{}"):
                continue  # a configuration without keys is judged as one
            answer = post(reader, path, fields | {name: value})
            assert 400 <= answer.status_code < 500, (name, value, answer.status_code, answer.text)
            assert "<script>alert" not in answer.text
            assert "onerror=alert(1)>" not in answer.text.replace("&gt;", "")
            assert "Set-Cookie" not in answer.headers or "x=1" not in answer.headers["Set-Cookie"]
    assert done(rest, jobs) == before


@pytest.mark.parametrize("path", FORMS)
def test_a_form_that_is_posted_twice_at_once_is_carried_out_once(rest: Rest, jobs: Jobs, path: str) -> None:
    stopped(rest)
    reader = Reader(rest.url)
    fields = form_of(reader, path)
    with ThreadPoolExecutor(4) as clicks:
        answers = list(clicks.map(lambda _: post(reader, path, fields), range(4)))
    statuses = {answer.status_code for answer in answers}
    assert statuses == ({409} if path == "/ui/letters" else {303}), [answer.text for answer in answers]
    restarts, _, offsets, versions, acted = done(rest, jobs)
    expected = {
        "/ui/connector": 1 + 1 + 2, "/ui/edit": 1 + 3, "/ui/offsets": 2, "/ui/history": 1 + 3, "/ui/letters": 1 + 2,
        "/ui/backfill": 1 + 2 + 1,
    }  # fmt: skip
    assert len(restarts) + len(offsets) + versions["a"] + len(acted) == expected[path]


@pytest.mark.parametrize("path", POSTS)
def test_a_form_of_read_only_pages_or_of_a_logged_out_session_does_nothing(
    serve: ServerMaker, jobs: Jobs, path: str, tmp_path: Any
) -> None:
    (tmp_path / "users").write_text("ada=lovelace\n")
    for worker, status in (({"rest.ui": "read-only"}, 403), ({"rest.basic.auth.file": str(tmp_path / "users")}, 401)):
        rest, open_rest = serve(worker=worker), serve()
        if status == 403:
            stopped(rest)
        stopped(open_rest)
        fields = form_of(Reader(open_rest.url), path)
        reader = Reader(rest.url)
        reader.session.cookies.set("connect-ui", fields["token"], path="/ui")
        before = done(rest, jobs)
        answer = post(reader, path, fields)
        assert (answer.status_code, done(rest, jobs)) == (status, before), answer.text
        assert answer.headers["Content-Type"].startswith("text/html")


def test_a_backfill_that_ended_after_its_page_was_loaded_is_left_as_it_is(rest: Rest, jobs: Jobs) -> None:
    stopped(rest)
    reader = Reader(rest.url)
    page = reader.open("/ui/backfill?name=a")
    assert page.buttons() == ["pause", "cancel"]
    jobs.state = "COPIED"
    for do, form in (("pause", "act"), ("cancel", "cancel")):
        stale = reader.press(page, do, form, confirm="a")
        assert (stale.status, "Backfill a was RUNNING, and is COPIED now. Nothing was done." in stale.text) == (
            409,
            True,
        )
    assert jobs.done == []
    shown = reader.open("/ui/backfill?name=a")
    assert (shown.status, shown.buttons(), shown.fields) == (200, [], {})
    jobs.state = "FAILED"
    assert reader.open("/ui/backfill?name=a").buttons() == ["resume", "cancel"]


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", {}), ("a=", {"a": ""}), ("a=1&a=2", {"a": "2"}), ("a=%C3%A9+x%2B%26%3D", {"a": "é x+&="}),
        ("a=%zz&b=%", {"a": "%zz", "b": "%"}), ("a=%ff", {"a": "\ufffd"}), ("a=1;b=2", {"a": "1;b=2"}),
        ("a=é", {"a": "é"}), ("a%3D=b", {"a=": "b"}),
    ],
)  # fmt: skip
def test_a_form_is_read_as_browsers_write_it(text: str, fields: dict[str, str]) -> None:
    assert fields_of(text) == fields == dict(parse_qsl(text, keep_blank_values=True))


@pytest.mark.parametrize(("text", "wrong"), [("a", "field 1"), ("a=1&&b=2", "field 2"), ("a=1&" * 60, "more than 50")])
def test_what_is_no_form_is_told(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        fields_of(text)


@pytest.mark.parametrize("part", ["'", "a'", "é", '{"a":"b c"}'])
def test_a_form_full_of_escapes_costs_little(part: str) -> None:
    text = urlencode({"config": part * (250_000 // len(part))})
    spent_s = []
    for _ in range(5):
        began_s = time.process_time()
        fields_of(text)
        spent_s.append(time.process_time() - began_s)
    assert min(spent_s) < 0.03
