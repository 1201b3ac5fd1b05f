"""Checks who runs a connector while it is moved between two clusters, and after a move that did not succeed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from connect.api.errors import ConnectError
from connect.client import imports
from connect.client.imports import ConnectorImport, ImportReport
from connect.client.rest import ConnectClient, RefusedError

NAME = "orders"
CONFIG = {"connector.class": "FileStreamSource", "file": "/in.txt", "topic": "orders"}


@dataclass
class Cluster:
    """Does what REST of a cluster does with one connector; a change of its state shows a few looks later."""

    url: str
    state: str | None = None
    becomes: Mapping[str, str] = field(default_factory=dict)
    looks_until_changed: int = 2
    unreachable_for: str = ""
    wanted: str = ""
    looks: int = 0
    kind: str = "source"
    stored: dict[str, int] = field(default_factory=dict)
    """Holds the connector's offset for each file that it reads; a sink's has the name of its topic."""

    def server(self) -> Mapping[str, Any]:
        return {"kafka_cluster_id": self.url}

    def connectors(self) -> Mapping[str, Any]:
        return {} if self.state is None else {NAME: {}}

    def config(self, _: str) -> Mapping[str, str]:
        return CONFIG

    def connector(self, _: str) -> Mapping[str, Any]:
        return {"type": self.kind}

    def validate(self, _: Mapping[str, str]) -> Mapping[str, Any]:
        return {"configs": []}

    def create(self, _: str, __: Mapping[str, str], state: str) -> None:
        if self.state is not None:
            raise RefusedError(409, "It already exists.")
        self.state = self.wanted = state

    def offsets(self, _: str) -> list[Mapping[str, Any]]:
        return [{"partition": {"filename": f}, "offset": {"position": at}} for f, at in self.stored.items()]

    def alter_offsets(self, _: str, offsets: Sequence[Mapping[str, Any]]) -> None:
        assert self.state == "STOPPED"
        assert offsets, "none is refused"
        for one in offsets:
            self.stored.pop(one["partition"]["filename"], None)
            if one["offset"] is not None:
                self.stored[one["partition"]["filename"]] = one["offset"]["position"]

    def change_state(self, _: str, verb: str) -> None:
        if verb == self.unreachable_for:
            raise ConnectError(f"No worker answers at {self.url}.")
        given = {"stop": "STOPPED", "pause": "PAUSED", "resume": "RUNNING"}[verb]
        self.wanted, self.looks = self.becomes.get(given, given), 0

    def status(self, _: str) -> Mapping[str, Any]:
        self.looks += 1
        if self.wanted and self.looks > self.looks_until_changed:
            self.state = self.wanted
        return {"connector": {"state": self.state}, "tasks": [] if self.state == "STOPPED" else [{"id": 0}]}


@dataclass
class Old(Cluster):
    """Fails the test where it is to run a connector that the other cluster may still run."""

    other: Cluster | None = None

    def change_state(self, name: str, verb: str) -> None:
        if verb != "stop":
            assert self.other is not None
            assert self.other.state in {None, "STOPPED"}, "both would run it"
        super().change_state(name, verb)


@pytest.fixture(autouse=True)
def _looks_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "_POLL_S", 0.001)


def moved(old: Cluster, new: Cluster) -> ImportReport:
    return ConnectorImport(cast("ConnectClient", old), cast("ConnectClient", new)).move(NAME)


@pytest.mark.parametrize("before", ["RUNNING", "PAUSED", "FAILED", "UNASSIGNED"])
def test_what_fails_here_is_given_back_once_it_stands_still_here(before: str) -> None:
    new = Cluster("http://new", becomes={"RUNNING": "FAILED", "PAUSED": "FAILED"})
    old = Old("http://old", before, other=new)
    report = moved(old, new)
    assert report.verdict == "refused"
    assert "orders has failed at http://new" in report.reason
    assert new.state == "STOPPED"
    assert old.wanted == ("PAUSED" if before == "PAUSED" else "RUNNING")


def test_what_does_not_stop_here_is_not_given_back_and_the_report_says_so() -> None:
    new = Cluster("http://new", becomes={"RUNNING": "FAILED"}, unreachable_for="stop")
    old = Old("http://old", "RUNNING", other=new)
    report = moved(old, new)
    assert (report.verdict, old.wanted) == ("refused", "STOPPED")
    assert "orders has failed at http://new" in report.reason
    assert "stands still at http://old: No worker answers at http://new." in report.reason


def test_what_was_stopped_there_stays_stopped_here_and_the_report_says_so() -> None:
    old, new = Old("http://old", "STOPPED"), Cluster("http://new")
    report = moved(old, new)
    assert (report.verdict, new.state) == ("moved", "STOPPED")
    assert any("was stopped there" in note for note in report.notes)


@pytest.mark.parametrize("there", [{}, {"/in.txt": 7}])
def test_offsets_that_a_former_connector_of_the_name_left_here_count_no_more(there: dict[str, int]) -> None:
    old = Old("http://old", "RUNNING", stored=there)
    new = Cluster("http://new", stored={"/in.txt": 90, "/other.txt": 5})
    old.other = new
    assert moved(old, new).verdict == "moved"
    assert new.stored == there


def test_one_that_is_stopped_in_both_clusters_keeps_its_later_offsets_here() -> None:
    """It was moved, ran here and was stopped here, when all connectors are moved once more."""
    old = Old("http://old", "STOPPED", stored={"/in.txt": 7})
    new = Cluster("http://new", "STOPPED", stored={"/in.txt": 90})
    old.other = new
    report = moved(old, new)
    assert report.verdict == "refused"
    assert "stands elsewhere here than at http://old" in report.reason
    assert new.stored == {"/in.txt": 90}
    assert (old.state, new.state) == ("STOPPED", "STOPPED")


@pytest.mark.parametrize("here", [{}, {"/in.txt": 7}])
def test_a_move_that_ended_before_its_offsets_were_set_goes_on(here: dict[str, int]) -> None:
    old = Old("http://old", "STOPPED", stored={"/in.txt": 7})
    new = Cluster("http://new", "STOPPED", stored=here)
    assert moved(old, new).verdict == "moved"
    assert new.stored == {"/in.txt": 7}


def test_offsets_of_a_sink_from_another_kafka_come_with_a_word_of_warning() -> None:
    old = Old("http://old", "RUNNING", stored={"orders": 7}, kind="sink")
    new = Cluster("http://new", kind="sink")
    old.other = new
    report = moved(old, new)
    assert new.stored == {"orders": 7}
    assert any("another Kafka" in note for note in report.notes)
