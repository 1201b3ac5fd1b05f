"""What was decided on a page that no longer tells how things stand is refused by every form, and says what changed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from rest_client import Rest
from sample_plugins import FILE_SINK
from ui_reader import Page, Reader

from connect.cluster.model.connector_values import PartitionOffset
from connect.cluster.model.history import ConfigVersion

LETTERS = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "letters"}
FORMS = {
    "connector": ("restart", "act"), "history": ("rollback 1", "act"), "edit": ("apply", "edit"),
    "offsets": ("reset", "forget-offsets"),
}  # fmt: skip
"""The button and the form of each page that acts on a connector."""


@pytest.fixture
def reader(rest: Rest) -> Reader:
    return Reader(rest.url)


def create(rest: Rest, state: str | None = None) -> None:
    rest.create("a", state, **{"connector.class": FILE_SINK, "topics": "t", **LETTERS})


def pages(reader: Reader) -> dict[str, Page]:
    return {path: reader.open(f"/ui/{path}?name=a") for path in FORMS}


def replay(reader: Reader, page: Page, **over: str) -> Page:
    """The answer to a replay of letters; its page, which needs Kafka, was drawn with the fields of another."""
    letters = Page.__new__(Page)
    letters.__dict__ = {**page.__dict__, "url": page.url.replace("/ui/connector", "/ui/letters")}
    letters.elements = [("form", {"id": "act", "action": "/ui/letters"})]
    return reader.press(letters, "replay", **over)


def state(rest: Rest) -> str:
    found: str = rest.get("/connectors/a/status")["connector"]["state"]
    return found


def test_a_connector_that_was_stopped_meanwhile_is_neither_paused_nor_restarted(rest: Rest, reader: Reader) -> None:
    create(rest)
    page = reader.open("/ui/connector?name=a")
    rest("PUT", "/connectors/a/stop")
    for do in ("pause", "restart", "restart-task 0", "resume"):
        stale = reader.press(page, do)
        assert (stale.status, state(rest)) == (409, "STOPPED")
        assert "was stopped after this page was loaded, which showed it running. Nothing was done." in stale.text
    assert rest.operations.cluster.restarts == []


@pytest.mark.parametrize("path", FORMS)
def test_a_connector_that_was_deleted_and_made_anew_is_another_one(rest: Rest, reader: Reader, path: str) -> None:
    create(rest, "STOPPED")
    page, (do, form) = pages(reader)[path], FORMS[path]
    rest("DELETE", "/connectors/a")
    create(rest, "STOPPED")
    stale = reader.press(page, do, form, confirm="a", config="{}")
    assert (stale.status, "another connector has taken its name" in stale.text) == (409, True), stale.text


def test_letters_are_not_replayed_by_a_configuration_that_the_page_did_not_show(rest: Rest, reader: Reader) -> None:
    create(rest)
    page = reader.open("/ui/connector?name=a")
    rest("PUT", "/connectors/a/config", {"connector.class": FILE_SINK, "topics": "u", **LETTERS})
    stale = replay(reader, page)
    assert (stale.status, "changed: topics from t to u" in stale.text) == (409, True), stale.text


def test_a_configuration_that_nobody_here_wrote_is_told_from_the_next_one(rest: Rest, reader: Reader) -> None:
    create(rest)
    versions = rest.operations.cluster.versions["a"]
    versions[:] = [replace(versions[0], author=None)]
    page = reader.open("/ui/connector?name=a")
    versions[:] = [ConfigVersion(1, {**versions[0].config, "topics": "u"})]
    stale = reader.press(page, "restart")
    assert (stale.status, rest.operations.cluster.restarts) == (409, [])


@pytest.mark.parametrize("path", FORMS)
def test_a_form_that_does_not_say_what_its_page_showed_does_nothing(rest: Rest, reader: Reader, path: str) -> None:
    create(rest, "STOPPED")
    before = rest.operations.cluster.offsets["a"] = [PartitionOffset({"n": 1}, {"at": 1})]
    page, (do, form) = pages(reader)[path], FORMS[path]
    answer = reader.press(page, do, form, confirm="a", config="{}", seen="")
    assert (answer.status, "does not say what its page showed" in answer.text) == (400, True), answer.text
    assert (rest.operations.cluster.restarts, rest.operations.cluster.offsets["a"]) == ([], before)
    assert len(rest.operations.cluster.versions["a"]) == 1


def test_letters_of_a_form_that_does_not_say_what_its_page_showed_stay(rest: Rest, reader: Reader) -> None:
    create(rest)
    answer = replay(reader, reader.open("/ui/connector?name=a"), seen="")
    assert (answer.status, "does not say what its page showed" in answer.text) == (400, True), answer.text


def test_offsets_of_what_runs_are_kept_and_the_page_says_to_stop_it(rest: Rest, reader: Reader) -> None:
    create(rest, "STOPPED")
    page = reader.open("/ui/offsets?name=a")
    rest("PUT", "/connectors/a/resume")
    rest.operations.cluster.offsets["a"] = moved = [PartitionOffset({"n": 1}, {"at": 2})]
    refused = reader.press(page, "reset", "forget-offsets", confirm="a")
    assert refused.status == 409
    assert "Connector a is running, and offsets can be changed while it is STOPPED" in refused.text
    assert "connect connectors stop a" in refused.text
    assert rest.operations.cluster.offsets["a"] == moved


def test_a_second_click_on_offsets_says_what_the_first_did(rest: Rest, reader: Reader) -> None:
    create(rest, "STOPPED")
    page = reader.open("/ui/offsets?name=a")
    for _ in range(2):
        assert "reset successfully" in reader.press(page, "reset", "forget-offsets", confirm="a").text


def test_the_page_says_of_given_offsets_what_rest_says(rest: Rest, reader: Reader) -> None:
    create(rest, "STOPPED")
    note = "nobody reads this <table>"
    rest.operations.offset_notes = (note,)
    given = [{"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 1}}]
    said = rest("PATCH", "/connectors/a/offsets", {"offsets": given}).json()["message"]
    given[0]["offset"]["kafka_offset"] = 2
    page = reader.open("/ui/offsets?name=a")
    looked = reader.press(page, "preview", "set-offsets", offsets=json.dumps({"offsets": given}))
    for _ in range(2):
        answer = reader.press(looked, "apply", "apply")
        assert answer.status == 200
        assert "altered successfully" in answer.text
        assert note in said
        assert note in answer.text
