"""Connectors are created and changed on pages: every error at once, a preview, and nothing of others overwritten."""

from __future__ import annotations

import json

import pytest
from memory_cluster import MemoryOperations, MemoryTrials
from rest_client import Rest, ServerMaker
from sample_plugins import FILE_SOURCE, VAULT_SOURCE
from ui_reader import Page, Reader

CONFIG = {"connector.class": FILE_SOURCE, "topic": "t"}


@pytest.fixture
def reader(rest: Rest) -> Reader:
    return Reader(rest.url)


def check(reader: Reader, page: Page, config: object, **over: str) -> Page:
    text = config if isinstance(config, str) else json.dumps(config)
    return reader.press(page, "check", "edit", config=text, **over)


def test_a_connector_is_created_after_a_preview(rest: Rest, reader: Reader) -> None:
    page = reader.open(f"/ui/edit?class={FILE_SOURCE}")
    assert (page.status, page.unclosed) == (200, [])
    assert FILE_SOURCE in page.text
    preview = check(reader, page, CONFIG | {"tasks.max": "2"}, name=" orders ")
    assert (preview.status, preview.unclosed) == (200, [])
    for text in ("What this would change", "It would run 2 tasks", "do not exist yet: t"):
        assert text in preview.text
    assert rest.get("/connectors") == [], "nothing is stored yet"
    done = reader.press(preview, "apply", "apply")
    assert (done.status, done.url) == (200, f"{rest.url}/ui/connector?name=orders&done=saved")
    assert rest.get("/connectors/orders/config") == CONFIG | {"tasks.max": "2", "name": "orders"}
    assert reader.press(preview, "apply", "apply").status == 200, "a second click gets the outcome of the first"
    taken = reader.press(preview, "apply", "apply", once="")
    assert (taken.status, "already exists" in taken.text) == (409, True)


def test_every_broken_key_is_named_at_once_and_the_text_stays(rest: Rest, reader: Reader) -> None:
    rest.create("a")
    wrong = {"connector.class": FILE_SOURCE, "batch.size": "many", "tasks.max": "<b>none</b>"}
    page = check(reader, reader.open("/ui/edit?name=a"), wrong)
    assert page.status == 200
    for text in ("4 errors. Nothing was stored", "batch.size", "tasks.max", "topic", "<b>none</b>"):
        assert text in page.text
    assert "apply" not in page.buttons()
    assert json.loads(page.areas["config"]) == wrong
    assert "b" not in {tag for tag, _ in page.elements}


def test_a_change_shows_its_differences_and_keeps_masked_secrets(rest: Rest, reader: Reader) -> None:
    secret = {"connection.url": "u", "connection.password": "p4ssw0rd!"}
    rest.create("a", **secret, **{"connector.class": VAULT_SOURCE, "mode": "bulk"})
    page = reader.open("/ui/edit?name=a")
    shown = json.loads(page.areas["config"])
    assert shown["connection.password"] == "[hidden]"
    preview = check(reader, page, shown | {"connection.url": "v"})
    assert "connection.url" in preview.text
    assert "connection.password" not in preview.text.partition("Configuration")[0]
    assert "p4ssw0rd!" not in page.html + preview.html
    assert reader.press(preview, "apply", "apply").status == 200
    stored = rest.operations.cluster.configs["a"]
    assert (stored["connection.password"], stored["connection.url"]) == ("p4ssw0rd!", "v")


@pytest.mark.parametrize("do", ["check", "apply"])
def test_what_another_has_changed_meanwhile_is_not_overwritten(rest: Rest, reader: Reader, do: str) -> None:
    rest.create("a")
    page = reader.open("/ui/edit?name=a")
    changed = {**CONFIG, "batch.size": "5"}
    assert rest("PUT", "/connectors/a/config", changed).status_code == 200
    stale = reader.press(page, do, "edit", config=json.dumps(CONFIG))
    assert stale.status == 409
    assert "added: batch.size = 5" in stale.text
    assert rest.get("/connectors/a/config") == changed | {"name": "a"}
    rest("DELETE", "/connectors/a")
    assert reader.press(page, do, "edit", config=json.dumps(CONFIG)).status == 404


def test_a_change_that_comes_while_a_configuration_is_tried_counts(serve: ServerMaker) -> None:
    class Slow(MemoryTrials):
        """Trials during which another one is faster."""

        def check(self, config, timeout_s, asker):
            if config.get("batch.size") == "1":
                self._whole.connectors.save("a", {**CONFIG, "name": "a", "file": "x"})
            return super().check(config, timeout_s, asker)

    operations = MemoryOperations()
    operations.trials = Slow(operations)
    rest = serve(operations)
    rest.create("a")
    reader = Reader(rest.url)
    page = reader.open("/ui/edit?name=a")
    stale = reader.press(page, "apply", "edit", config=json.dumps(CONFIG | {"batch.size": "1"}))
    assert (stale.status, "added: file = x" in stale.text) == (409, True)
    assert rest.get("/connectors/a/config")["file"] == "x"


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', '{"a": {"b": 1}}', '{"name": "other", "connector.class": "x"}'])
def test_what_is_no_configuration_is_refused_and_stays(rest: Rest, reader: Reader, text: str) -> None:
    rest.create("a")
    page = check(reader, reader.open("/ui/edit?name=a"), text)
    assert (page.status, page.headers["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert (page.areas["config"].removeprefix("\n"), page.unclosed) == (text, []), "what was typed stays"
    assert "1 error. Nothing was stored." in page.text
    assert "apply" not in page.buttons()


def test_a_file_of_connect_may_be_pasted(rest: Rest, reader: Reader) -> None:
    page = check(reader, reader.open("/ui/edit"), {"name": "b", "config": CONFIG}, name="b")
    assert reader.press(page, "apply", "apply").status == 200
    assert rest.get("/connectors/b/config") == CONFIG | {"name": "b"}


def test_names_are_wanted_and_odd_forms_refused(rest: Rest, reader: Reader) -> None:
    page = reader.open("/ui/edit")
    assert check(reader, page, CONFIG).status == 400
    assert check(reader, page, CONFIG, name="x" * 501).status == 400
    assert reader.press(page, "delete", "edit", name="a", config=json.dumps(CONFIG)).status == 400
    assert check(reader, page, CONFIG, name="a", seen="").status == 404
    assert reader.open("/ui/edit?name=none").status == 404


def test_read_only_pages_change_no_configuration(serve: ServerMaker) -> None:
    rest = serve(worker={"rest.ui": "read-only"})
    rest.create("a")
    reader = Reader(rest.url)
    page = reader.open("/ui/edit?name=a")
    assert (page.status, page.fields, page.buttons()) == (200, {}, [])
    answer = reader.session.post(f"{rest.url}/ui/edit", data={"name": "a", "do": "apply", "config": "{}"}, timeout=30)
    assert answer.status_code == 403
