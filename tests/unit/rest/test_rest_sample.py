"""Shows live rows before and after each transform: over REST, on a page, and in a terminal."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner
from rest_client import Rest, ServerMaker, refused
from test_rest_ui import HOSTILE
from ui_reader import Reader

from connect.api.errors import ConnectError
from connect.cli import main
from connect.rest.ui.frame.links import link


def record(value: str, topic: str = "t", **types: str) -> dict[str, Any]:
    return {"topic": topic, "key": "null", "value": value, "timestamp_ms": None, "headers": {}, "types": types}


def step(name: str, *records: dict[str, Any], error: str | None = None, more: int = 0) -> dict[str, Any]:
    return {"name": name, "plugin": "org.x.Plugin", "records": list(records), "more": more, "error": error}


def sampled(*steps: dict[str, Any], place: str = "t-0@7") -> dict[str, Any]:
    return {"place": place, "steps": list(steps)}


STEPS = sampled(
    step("read", record('{"a": 1}', a="int32")), step("noop", record('{"a": 1}', a="int32")),
    step("rename", record('{"b": 1}', b="int32"), more=3), step("filter", error="DataError: no <b>b</b>"),
)  # fmt: skip


def test_rest_gives_as_many_rows_as_are_asked_for(rest: Rest) -> None:
    rest.create("a")
    rest.operations.sampled_row = STEPS
    assert rest.get("/connectors/a/sample?rows=3") == {"rows": [STEPS] * 3, "notes": []}
    assert len(rest.get("/connectors/a/sample")["rows"]) == 5
    for rows in ("0", "51", "x", "-1", "٣", ""):
        assert "from 1 to 50" in refused(rest("GET", f"/connectors/a/sample?rows={rows}"), 400)
    refused(rest("GET", "/connectors/none/sample"), 404)


def test_what_keeps_rows_from_being_read_is_said_without_secrets(rest: Rest) -> None:
    rest.create("a", **{"x.password": "p4ssw0rd!"})
    rest.operations.sample_error = ConnectError("This source keeps slot x; p4ssw0rd!")
    text = refused(rest("GET", "/connectors/a/sample"), 409)
    assert "keeps slot x" in text
    assert "p4ssw0rd!" not in text
    page = Reader(rest.url).open("/ui/sample?name=a")
    assert (page.status, "keeps slot x" in page.text) == (409, True)


def test_the_page_shows_each_step_and_what_it_changes(rest: Rest) -> None:
    rest.create("a")
    rest.operations.sampled_row = STEPS
    reader = Reader(rest.url)
    page = reader.open("/ui/sample?name=a&rows=2")
    assert (page.status, page.unclosed) == (200, [])
    assert page.text.count("leaves it as it is") == 2
    for text in ('{"a": 1}', "int32", "and 3 more records", "refuses it DataError: no <b>b</b>", "t-0@7"):
        assert text in page.text
    assert "/ui/sample?name=a" in reader.open("/ui/connector?name=a").links()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_rows_are_text(rest: Rest, name: str) -> None:
    rest.operations.connectors.create(name, {"connector.class": "x.Source", "name": name}, None)
    rest.operations.sampled_row = sampled(step(name, record(name, name, **{name: name})), place=name)
    page = Reader(rest.url).open(link("/sample", name=name))
    assert (page.status, page.unclosed) == (200, [])
    assert not [tag for tag, values in page.elements if tag == "script" and "src" not in values]
    assert not [values for _, values in page.elements if "onerror" in values]
    assert "\u202e" not in page.text


def test_pages_that_change_nothing_show_rows_too(serve: ServerMaker) -> None:
    rest = serve(worker={"rest.ui": "read-only"})
    rest.create("a")
    assert Reader(rest.url).open("/ui/sample?name=a").status == 200


def test_who_may_only_look_sees_no_rows(serve: ServerMaker, tmp_path: Any) -> None:
    (tmp_path / "users").write_text("ada=x\n")
    rest = serve(worker={"rest.basic.auth.file": str(tmp_path / "users"), "rest.roles.viewer": "ada"})
    reader = Reader(rest.url)
    reader.session.auth = ("ada", "x")
    assert reader.open("/ui/sample?name=a").status == 403
    assert not [to for to in reader.open("/ui").links() if "/ui/sample" in to]


def test_the_command_prints_the_steps(rest: Rest) -> None:
    rest.create("a")
    rest.operations.sampled_row = sampled(*STEPS["steps"][:3], step("drop"))
    printed = CliRunner().invoke(main, ["connectors", "sample", "a", "--rows", "1", "--url", rest.url])
    assert printed.exit_code == 0, printed.output
    assert printed.output.splitlines() == [
        "t-0@7", "  read (Plugin)", '    t  key null  value {"a": 1}', "  noop (Plugin) leaves it as it is",
        "  rename (Plugin)", '    t  key null  value {"b": 1}', "    and 3 more records", "  drop (Plugin) drops it",
        "",
    ]  # fmt: skip
    machine = CliRunner().invoke(main, ["connectors", "sample", "a", "--json", "--url", rest.url])
    assert '"steps"' in machine.output
