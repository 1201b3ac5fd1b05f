"""Checks offsets, history and plug-ins on pages, over a cluster in memory, read without JavaScript."""

from __future__ import annotations

import json

import pytest
from rest_client import Rest, ServerMaker
from sample_plugins import FILE_SINK, FILE_SOURCE
from ui_reader import Page, Reader

from connect.cluster.model.connector_values import PartitionOffset
from connect.rest.ui.views.offsets import mark, offset_changes

STORED = PartitionOffset({"filename": "<b>x</b>"}, {"position": 7})


@pytest.fixture
def reader(rest: Rest) -> Reader:
    rest.create("a", "STOPPED")
    rest.operations.cluster.offsets["a"] = [STORED]
    return Reader(rest.url)


def offsets(position: int | None) -> str:
    offset = None if position is None else {"position": position}
    return json.dumps({"offsets": [{"partition": {"filename": "<b>x</b>"}, "offset": offset}]})


def set_form(page: Page) -> str:
    return next(form for form in page.fields if form == "set-offsets")


def test_offsets_are_set_after_a_preview(rest: Rest, reader: Reader) -> None:
    page = reader.open("/ui/offsets?name=a")
    assert (page.status, page.unclosed) == (200, [])
    assert '{"filename":"<b>x</b>"}' in page.text
    preview = reader.press(page, "preview", set_form(page), offsets=offsets(3))
    assert (preview.status, preview.unclosed) == (200, [])
    assert "1 partition;" in preview.text
    assert '{"position":7}' in preview.text
    assert '{"position":3}' in preview.text
    assert rest.get("/connectors/a/offsets")["offsets"][0]["offset"] == {"position": 7}, "nothing is written yet"
    done = reader.press(preview, "apply", "apply")
    assert (done.status, "altered successfully" in done.text) == (200, True)
    assert rest.get("/connectors/a/offsets")["offsets"][0]["offset"] == {"position": 3}
    page = reader.press(reader.open("/ui/offsets?name=a"), "preview", "set-offsets", offsets=offsets(3))
    assert "these are the stored offsets" in page.text


def test_a_preview_says_that_a_partition_does_not_exist_and_offers_nothing_to_write(rest: Rest, reader: Reader) -> None:
    rest.operations.missing_partitions = ({"filename": "gone"},)
    both = json.dumps(
        {"offsets": [{"partition": {"filename": name}, "offset": {"position": 1}} for name in ("gone", "new")]}
    )
    preview = reader.press(reader.open("/ui/offsets?name=a"), "preview", "set-offsets", offsets=both)
    assert (preview.status, preview.unclosed) == (200, [])
    assert (preview.text.count("does not exist"), preview.text.count("nothing stored")) == (1, 1)
    assert "Nothing would be written, as 1 partition of these cannot be found in Kafka" in preview.text
    assert "apply" not in preview.fields


def test_offsets_that_have_moved_meanwhile_are_left_alone(rest: Rest, reader: Reader) -> None:
    preview = reader.press(reader.open("/ui/offsets?name=a"), "preview", "set-offsets", offsets=offsets(3))
    moved = PartitionOffset(STORED.partition, {"position": 8})
    rest.operations.cluster.offsets["a"] = [moved]
    for do, form in (("apply", "apply"), ("reset", "forget-offsets")):
        stale = reader.press(preview, do, form, confirm="a")
        assert (stale.status, "have moved since" in stale.text) == (409, True)
    assert rest.operations.cluster.offsets["a"] == [moved]


def test_all_offsets_are_forgotten_by_whoever_types_the_name(rest: Rest, reader: Reader) -> None:
    page = reader.open("/ui/offsets?name=a")
    assert "type the connector's name" in reader.press(page, "reset", "forget-offsets", confirm="b").text
    assert rest.operations.cluster.offsets["a"] == [STORED]
    done = reader.press(reader.open("/ui/offsets?name=a"), "reset", "forget-offsets", confirm="a")
    assert (done.status, "reset successfully" in done.text) == (200, True)
    assert "a" not in rest.operations.cluster.offsets


@pytest.mark.parametrize("text", ["", "{", "[]", '{"offsets": []}', '{"offsets": [{"partition": 1}]}', '{"x": 1}'])
def test_what_is_no_offsets_is_refused_by_a_page(rest: Rest, reader: Reader, text: str) -> None:
    page = reader.press(reader.open("/ui/offsets?name=a"), "preview", "set-offsets", offsets=text)
    assert (page.status, page.headers["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert (page.areas["offsets"].removeprefix("\n"), page.unclosed) == (text, []), "what was typed stays"


def test_offsets_of_what_runs_are_shown_and_have_no_form(rest: Rest, reader: Reader) -> None:
    rest.create("runs")
    page = reader.open("/ui/offsets?name=runs")
    assert (page.status, page.fields) == (200, {})
    assert "while the connector is STOPPED" in page.text
    assert reader.open("/ui/offsets?name=none").status == 404


def test_changes_are_those_of_partitions_that_are_given() -> None:
    other = PartitionOffset({"b": 1, "a": 2}, {"at": 1})
    again = PartitionOffset({"a": 2, "b": 1}, {"at": 1})
    assert offset_changes([STORED, other], [again]) == []
    assert mark([STORED, other]) == mark([again, STORED])
    (forgotten,) = offset_changes([STORED, other], [PartitionOffset({"a": 2, "b": 1}, None)])
    assert (forgotten.before, forgotten.after) == ('{"at":1}', None)
    assert offset_changes([], [PartitionOffset({"n": 1}, None)]) == []


def test_history_shows_who_changed_what_and_leads_back(rest: Rest) -> None:
    rest.create("a", **{"batch.size": "10"})
    config = {"connector.class": FILE_SOURCE, "topic": "t", "batch.size": "20"}
    rest("PUT", "/connectors/a/config", config, headers={"User-Agent": "<i>curl</i>"})
    reader = Reader(rest.url)
    page = reader.open("/ui/history?name=a")
    assert (page.status, page.unclosed) == (200, [])
    for text in ("changed: batch.size from 10 to 20", "<i>curl</i>", "The first that is kept", "Trace: boom", "FAILED"):
        assert text in page.text
    assert page.buttons() == ["rollback 1"]
    done = reader.press(page, "rollback 1")
    assert (done.status, "version 1 again" in done.text) == (200, True)
    assert rest.get("/connectors/a/config")["batch.size"] == "10"
    stale = reader.press(page, "rollback 1", once="")
    assert (stale.status, "changed: batch.size from 20 to 10" in stale.text) == (409, True)
    assert reader.press(reader.open("/ui/history?name=a"), "rollback 9").status == 404
    assert reader.press(reader.open("/ui/history?name=a"), "restart").status == 400


def test_plug_ins_are_listed_by_kind_and_show_their_keys(rest: Rest) -> None:
    reader = Reader(rest.url)
    page = reader.open("/ui/plugins")
    assert (page.status, page.unclosed) == (200, [])
    for title in ("Sources", "Sinks", "Transforms", "Predicates", "Converters"):
        assert title in page.text
    assert FILE_SINK not in reader.open("/ui/plugins?q=FileStreamSource").text
    assert "No plug-in is called so" in reader.open("/ui/plugins?q=<b>nothing").text
    for address in [link for link in page.links() if link.startswith("/ui/plugin?")]:
        shown = reader.open(address)
        assert (shown.status, shown.unclosed) == (200, []), address
    keys = reader.open(f"/ui/plugin?class={FILE_SOURCE}").text
    for text in ("batch.size", "2000", "Lines per batch.", "required", "tasks.max"):
        assert text in keys
    assert reader.open("/ui/plugin?class=nothing").status == 404
    assert reader.open("/ui/plugin").status == 404


def test_read_only_pages_of_offsets_and_history_have_no_forms(serve: ServerMaker) -> None:
    rest = serve(worker={"rest.ui": "read-only"})
    rest.create("a", "STOPPED")
    reader = Reader(rest.url)
    for path in ("offsets", "history"):
        page = reader.open(f"/ui/{path}?name=a")
        assert (page.status, page.fields, page.buttons()) == (200, {}, [])
        answer = reader.session.post(f"{rest.url}/ui/{path}", data={"name": "a"}, timeout=30)
        assert answer.status_code == 403
