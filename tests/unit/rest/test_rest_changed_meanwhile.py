"""No change of a configuration is lost to another one that was computed before it, up to the moment of writing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

import pytest
from memory_cluster import MemoryConnectors, MemoryOperations, MemoryTrials
from rest_client import FILE_SOURCE, Rest, ServerMaker
from ui_reader import Reader

from connect.cluster.model.connector_values import Saved, TargetState

CONFIG = {"connector.class": FILE_SOURCE, "topic": "t", "name": "a"}
Meddle = Callable[[MemoryConnectors], object]


class FasterOther(MemoryTrials):
    """Trials during which another request changes the connector."""

    def __init__(self, whole: MemoryOperations, meddle: Meddle, times: int = 1) -> None:
        super().__init__(whole)
        self._cluster, self._meddle, self.left = whole, meddle, times

    def check(self, config: Mapping[str, str], timeout_s: float, asker: str) -> Any:
        if self.left:
            self.left -= 1
            self._meddle(self._cluster.connectors)
        return super().check(config, timeout_s, asker)


class LateOther(MemoryConnectors):
    """Connectors of which another request changes one between the last look and the writing of the first request."""

    def __init__(self, whole: MemoryOperations, meddle: Meddle) -> None:
        super().__init__(whole)
        self._cluster, self._meddle = whole, meddle

    def save(
        self, name: str, config: Mapping[str, str], who: str = "rest", *, instead_of: Mapping[str, str] | None = None
    ) -> Future[Saved]:
        self._meddle(MemoryConnectors(self._cluster))
        return super().save(name, config, who, instead_of=instead_of)

    def create(
        self, name: str, config: Mapping[str, str], initial_state: TargetState | None, *more: Any, **named: Any
    ) -> Future[Saved]:
        self._meddle(MemoryConnectors(self._cluster))
        return super().create(name, config, initial_state, *more, **named)


def put(**values: str) -> Meddle:
    return lambda connectors: connectors.save("a", CONFIG | values)


def served(serve: ServerMaker) -> Rest:
    rest = serve()
    rest.create("a")
    return rest


def test_a_patch_leaves_the_values_of_a_put_that_came_during_its_validation(serve: ServerMaker) -> None:
    rest = served(serve)
    rest.operations.trials = FasterOther(rest.operations, put(file="of the put", topic="t2"))
    answer = rest("PATCH", "/connectors/a/config", {"batch.size": "5"})
    assert answer.status_code == 200, answer.text
    stored = CONFIG | {"file": "of the put", "topic": "t2", "batch.size": "5"}
    assert (answer.json()["config"], rest.get("/connectors/a/config")) == (stored, stored)


def test_a_patch_never_brings_back_what_was_deleted_during_its_validation(serve: ServerMaker) -> None:
    rest = served(serve)
    rest.operations.trials = FasterOther(rest.operations, lambda connectors: connectors.delete("a"))
    assert rest("PATCH", "/connectors/a/config", {"batch.size": "5"}).status_code == 404
    assert rest.get("/connectors") == []


def test_a_patch_that_is_overtaken_again_and_again_is_told(serve: ServerMaker) -> None:
    rest = served(serve)
    numbers = iter(range(100))

    def put_another(connectors: MemoryConnectors) -> None:
        put(file=str(next(numbers)))(connectors)

    rest.operations.trials = FasterOther(rest.operations, put_another, times=100)
    answer = rest("PATCH", "/connectors/a/config", {"batch.size": "5"})
    assert (answer.status_code, "was changed by another request" in answer.text) == (409, True), answer.text
    assert "batch.size" not in rest.get("/connectors/a/config")


def test_a_rollback_never_brings_back_what_was_deleted_during_its_validation(serve: ServerMaker) -> None:
    rest = served(serve)
    assert rest("PUT", "/connectors/a/config", CONFIG | {"topic": "t2"}).status_code == 200
    rest.operations.trials = FasterOther(rest.operations, lambda connectors: connectors.delete("a"))
    assert rest("PUT", "/connectors/a/rollback/1").status_code == 409
    assert rest.get("/connectors") == []


def test_a_rollback_undoes_no_change_that_came_during_its_validation(serve: ServerMaker) -> None:
    rest = served(serve)
    assert rest("PUT", "/connectors/a/config", CONFIG | {"topic": "t2"}).status_code == 200
    rest.operations.trials = FasterOther(rest.operations, put(topic="t3"))
    assert rest("PUT", "/connectors/a/rollback/1").status_code == 409
    assert rest.get("/connectors/a/config") == CONFIG | {"topic": "t3"}


def with_password(password: str, **values: str) -> dict[str, str]:
    return {"connector.class": FILE_SOURCE, "topic": "t", "name": "a", "db.password": password, **values}


def test_a_mask_stands_for_the_password_that_came_during_the_validation(serve: ServerMaker) -> None:
    rest = served(serve)
    assert rest("PUT", "/connectors/a/config", with_password("former-secret")).status_code == 200
    shown = rest.get("/connectors/a/config")
    assert shown["db.password"] != "former-secret"
    change = with_password("newer-secret")
    rest.operations.trials = FasterOther(rest.operations, lambda connectors: connectors.save("a", change))
    answer = rest("PUT", "/connectors/a/config", shown | {"topic": "t2"})
    assert answer.status_code == 200, answer.text
    assert rest.operations.cluster.configs["a"] == with_password("newer-secret", topic="t2")


def test_a_configuration_without_masks_is_written_over_what_came_during_its_validation(serve: ServerMaker) -> None:
    """So it is in Java, too: a PUT says the whole configuration."""
    rest = served(serve)
    rest.operations.trials = FasterOther(rest.operations, put(file="x"), times=100)
    assert rest("PUT", "/connectors/a/config", CONFIG | {"topic": "t2"}).status_code == 200
    assert rest.get("/connectors/a/config") == CONFIG | {"topic": "t2"}


@pytest.mark.parametrize("path", ["edit", "history"])
def test_a_page_writes_over_nothing_that_came_between_its_last_look_and_its_writing(
    serve: ServerMaker, path: str
) -> None:
    rest = served(serve)
    assert rest("PUT", "/connectors/a/config", CONFIG | {"topic": "t2"}).status_code == 200
    reader = Reader(rest.url)
    page = reader.open(f"/ui/{path}?name=a")
    rest.operations.connectors = LateOther(rest.operations, put(file="x"))
    wanted = json.dumps(CONFIG | {"batch.size": "1"})
    stale = reader.press(page, *{"edit": ("apply", "edit"), "history": ("rollback 1",)}[path], config=wanted)
    assert (stale.status, "added: file = x" in stale.text) == (409, True), stale.text
    assert rest.get("/connectors/a/config") == CONFIG | {"file": "x"}


def test_a_page_of_a_new_connector_writes_over_none_that_was_made_meanwhile(serve: ServerMaker) -> None:
    rest = serve()
    reader = Reader(rest.url)
    page = reader.open("/ui/edit")
    rest.operations.connectors = LateOther(rest.operations, put(file="x"))
    stale = reader.press(page, "apply", "edit", name="a", config=json.dumps(CONFIG))
    assert (stale.status, "already exists" in stale.text) == (409, True), stale.text
    assert rest.get("/connectors/a/config") == CONFIG | {"file": "x"}
