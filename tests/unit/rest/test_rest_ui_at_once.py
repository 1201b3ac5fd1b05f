"""Forms that come at once: one form posted many times has one effect, and of two stale tabs one is told so."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from memory_cluster import MemoryOperations, MemoryTrials
from rest_client import Rest, ServerMaker
from sample_plugins import FILE_SINK
from ui_reader import Page, Reader

from connect.cluster.model.connector_values import PartitionOffset

CONFIG = {"connector.class": FILE_SINK, "topics": "t"}
AT_ONCE = 6
PLACE = {"kafka_topic": "t", "kafka_partition": 0}


def offsets(number: int) -> str:
    return json.dumps({"offsets": [{"partition": PLACE, "offset": {"kafka_offset": number}}]})


@pytest.fixture
def reader(rest: Rest) -> Reader:
    return Reader(rest.url)


def two_versions(rest: Rest, state: str | None = None) -> None:
    rest.create("a", state, **CONFIG)
    assert rest("PUT", "/connectors/a/config", CONFIG | {"topics": "u"}).status_code == 200


def at_once(press: Callable[[int], Page], count: int = AT_ONCE) -> list[Page]:
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(press, range(count)))


@pytest.mark.parametrize("do", ["restart", "restart-failed", "restart-task 0"])
def test_a_button_that_restarts_restarts_once(rest: Rest, reader: Reader, do: str) -> None:
    two_versions(rest)
    page = reader.open("/ui/connector?name=a")
    answers = at_once(lambda _: reader.press(page, do))
    assert {(answer.status, "restart" in answer.text) for answer in answers} == {(200, True)}
    assert len(rest.operations.cluster.restarts) == 1


@pytest.mark.parametrize("do", ["pause", "stop"])
def test_a_button_that_lets_rest_says_so_to_each_click(rest: Rest, reader: Reader, do: str) -> None:
    two_versions(rest)
    page = reader.open("/ui/connector?name=a")
    answers = at_once(lambda _: reader.press(page, do))
    assert {answer.status for answer in answers} == {200}
    assert rest.get("/connectors/a/status")["connector"]["state"] == {"pause": "PAUSED", "stop": "STOPPED"}[do]


def test_a_version_is_brought_back_once(rest: Rest, reader: Reader) -> None:
    two_versions(rest)
    page = reader.open("/ui/history?name=a")
    answers = at_once(lambda _: reader.press(page, "rollback 1"))
    assert {(answer.status, "of version 1 again" in answer.text) for answer in answers} == {(200, True)}
    assert [one.config["topics"] for one in rest.operations.cluster.versions["a"]] == ["t", "u", "t"]


def test_a_connector_is_created_and_changed_once(rest: Rest, reader: Reader) -> None:
    for config in (CONFIG, CONFIG | {"topics": "u"}):
        page = reader.open("/ui/edit" if config is CONFIG else "/ui/edit?name=a")
        preview = reader.press(page, "check", "edit", name="a", config=json.dumps(config))
        answers = at_once(lambda _, preview=preview: reader.press(preview, "apply", "apply"))
        assert {answer.status for answer in answers} == {200}
    assert [one.config["topics"] for one in rest.operations.cluster.versions["a"]] == ["t", "u"]


def test_offsets_are_written_and_forgotten_once(rest: Rest, reader: Reader) -> None:
    two_versions(rest, "STOPPED")
    looked = reader.press(reader.open("/ui/offsets?name=a"), "preview", "set-offsets", offsets=offsets(1))
    written = at_once(lambda _: reader.press(looked, "apply", "apply"))
    assert {(one.status, "altered successfully" in one.text) for one in written} == {(200, True)}
    page = reader.open("/ui/offsets?name=a")
    gone = at_once(lambda _: reader.press(page, "reset", "forget-offsets", confirm="a"))
    assert {(one.status, "reset successfully" in one.text) for one in gone} == {(200, True)}


def test_of_tabs_that_write_other_offsets_at_once_one_writes_and_the_others_are_told(serve: ServerMaker) -> None:
    rest = serve(MemoryOperations())
    two_versions(rest, "STOPPED")
    tabs = [Reader(rest.url) for _ in range(AT_ONCE)]
    looked = [
        tab.press(tab.open("/ui/offsets?name=a"), "preview", "set-offsets", offsets=offsets(number))
        for number, tab in enumerate(tabs)
    ]
    answers = at_once(lambda number: tabs[number].press(looked[number], "apply", "apply"))
    (done,) = (number for number, answer in enumerate(answers) if answer.status == 200)
    assert {answer.status for answer in answers} == {200, 409}
    assert rest.operations.cluster.offsets["a"] == [PartitionOffset(PLACE, {"kafka_offset": done})]


def test_of_tabs_that_go_back_at_once_one_does_and_the_others_are_told(rest: Rest) -> None:
    two_versions(rest)
    assert rest("PUT", "/connectors/a/config", CONFIG | {"topics": "v"}).status_code == 200
    tabs = [Reader(rest.url) for _ in range(AT_ONCE)]
    pages = [tab.open("/ui/history?name=a") for tab in tabs]
    answers = at_once(lambda number: tabs[number].press(pages[number], f"rollback {1 + number % 2}"))
    assert sorted(answer.status for answer in answers) == [200] + [409] * (AT_ONCE - 1)
    assert len(rest.operations.cluster.versions["a"]) == 4


def test_a_change_that_comes_while_an_old_version_is_tried_is_not_overwritten(serve: ServerMaker) -> None:
    class Slow(MemoryTrials):
        """Trials during which another one is faster."""

        def check(self, config: Any, timeout_s: float, asker: str) -> Any:
            if config["topics"] == "t":
                self._whole.connectors.save("a", {**CONFIG, "name": "a", "topics": "of another"})
            return super().check(config, timeout_s, asker)

    operations = MemoryOperations()
    rest = serve(operations)
    two_versions(rest)
    operations.trials = Slow(operations)
    reader = Reader(rest.url)
    stale = reader.press(reader.open("/ui/history?name=a"), "rollback 1")
    assert (stale.status, "changed: topics from u to of another" in stale.text) == (409, True), stale.text
    assert rest.get("/connectors/a/config")["topics"] == "of another"
