"""Copies are made, widened and set as their topics are, and what cannot be done for one topic stops no other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mirror_clusters import Cluster, mirror

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connectors.mirror import topics
from connectors.mirror.config import IDENTITY_POLICY
from connectors.mirror.source import ASSIGNED, MirrorSourceConnector

COMPACT = {"cleanup.policy": "compact"}
TARGET = {"target__cluster__bootstrap__servers": "y:1"}
IDENTITY = {"replication__policy__class": IDENTITY_POLICY}


@pytest.fixture(autouse=True)
def _nothing_is_known() -> Iterator[None]:
    topics._FREE.clear()
    yield
    topics._FREE.clear()


def planned(connector: MirrorSourceConnector) -> list[str]:
    """Return the partitions that are copied."""
    return [place for task in connector.task_configs(1) for place in task[ASSIGNED].split(",")]


def test_topics_of_a_clusters_state_are_left_out() -> None:
    source, target = Cluster({"o": 1, "connect-offsets": 2, "table": 1}), Cluster({})
    source.configs = {"connect-offsets": {"cleanup.policy": "compact"}, "table": {"cleanup.policy": "compact"}}
    source.states = {"connect-offsets": "source offsets"}
    [task] = mirror(source, target).task_configs(1)
    assert task[ASSIGNED].split(",") == ["o-0", "table-0"]
    assert target.counts == {"a.o": 1, "a.table": 1}


def test_copies_are_made_widened_and_set_but_for_what_they_keep_for_themselves() -> None:
    source, target = Cluster({"o": 3, "new": 2}), Cluster({"a.o": 2})
    source.configs = {"o": {"retention.ms": "5", "min.insync.replicas": "2"}, "new": {"cleanup.policy": "compact"}}
    target.configs = {"a.o": {"segment.ms": "9", "min.insync.replicas": "1"}}
    mirror(source, target, target__cluster__bootstrap__servers="y:1").task_configs(1)
    assert target.counts == {"a.o": 3, "a.new": 2}
    assert target.configs == {
        "a.o": {"retention.ms": "5", "min.insync.replicas": "1"}, "a.new": {"cleanup.policy": "compact"},
    }  # fmt: skip


def test_copies_are_made_with_configs_even_where_those_are_not_kept_alike() -> None:
    source, target = Cluster({"new": 1, "o": 1}), Cluster({"a.o": 1})
    source.configs = {"new": {"cleanup.policy": "compact"}, "o": {"retention.ms": "5"}}
    off = {"sync__topic__configs__enabled": "false", "target__cluster__bootstrap__servers": "y:1"}
    mirror(source, target, **off).task_configs(1)
    assert target.configs == {"a.new": {"cleanup.policy": "compact"}}


def test_copies_that_are_there_are_not_set_by_the_workers_own_login() -> None:
    source, target = Cluster({"o": 3, "new": 1}), Cluster({"a.o": 2})
    source.configs = {"o": {"retention.ms": "5"}, "new": {"retention.ms": "6"}}
    mirror(source, target).task_configs(1)
    assert target.configs == {"a.new": {"retention.ms": "6"}}
    assert target.counts == {"a.o": 3, "a.new": 1}


@pytest.mark.parametrize("error", [ConnectError("planted"), ConfigError("reserved", key="topics")])
def test_a_topic_whose_copy_cannot_be_made_stops_no_other(
    error: ConnectError, caplog: pytest.LogCaptureFixture
) -> None:
    source, target = Cluster({"bad": 2, "good": 1}), Cluster({})
    target.refused = {"make a.bad": error}
    assert planned(mirror(source, target)) == ["good-0"]
    assert "Topic bad of the source is not copied: " in caplog.text
    assert error.message in caplog.text


def test_where_no_copy_can_be_made_the_first_reason_is_told() -> None:
    target = Cluster({})
    target.refused = {"make a.x": ConnectError("planted"), "make a.y": ConnectError("other")}
    with pytest.raises(ConnectError, match="planted"):
        mirror(Cluster({"x": 1, "y": 1}), target).task_configs(1)


@pytest.mark.parametrize("doing", ["make a.new", "widen a.old", "set a.set"])
def test_brokers_that_are_away_end_the_plan_which_is_made_again(doing: str) -> None:
    source, target = Cluster({"new": 1, "old": 2, "set": 1}), Cluster({"a.old": 1, "a.set": 1})
    source.configs = {"set": {"retention.ms": "5"}}
    target.refused = {doing: RetriableError("away")}
    with pytest.raises(RetriableError):
        mirror(source, target, **TARGET).task_configs(1)


def test_of_a_copy_that_cannot_be_widened_or_set_what_it_has_is_copied(caplog: pytest.LogCaptureFixture) -> None:
    source, target = Cluster({"narrow": 3, "odd": 1}), Cluster({"a.narrow": 1, "a.odd": 4})
    source.configs = {"odd": {"its.own": "1"}}
    target.refused = {"widen a.narrow": ConnectError("denied"), "set a.odd": ConnectError("unknown config")}
    assert planned(mirror(source, target, **TARGET)) == ["narrow-0", "odd-0"]
    assert "Topic a.narrow keeps its 1 partitions; no others of narrow are copied: denied" in caplog.text
    assert "The configs of topic a.odd stay as they are: unknown config" in caplog.text


def test_a_copy_that_is_reserved_gets_no_records() -> None:
    source, target = Cluster({"connect-status": 2, "o": 1}), Cluster({"connect-status": 1})
    target.refused = {"widen connect-status": ConfigError("reserved", key="topics")}
    assert planned(mirror(source, target, **TARGET, **IDENTITY)) == ["o-0"]


def test_a_topic_whose_configs_cannot_be_read_gets_no_copy_but_is_copied_on() -> None:
    source, target = Cluster({"hidden": 1, "there": 1, "o": 1}), Cluster({"a.there": 1})
    source.hidden = {"hidden", "there"}
    assert planned(mirror(source, target, **TARGET)) == ["o-0", "there-0"]
    assert target.counts == {"a.there": 1, "a.o": 1}


def test_the_configs_of_all_topics_are_asked_for_at_once() -> None:
    names = [f"t{number}" for number in range(1000)]
    source, target = Cluster(dict.fromkeys(names, 1)), Cluster({f"a.{name}": 1 for name in names})
    source.configs = dict.fromkeys(names, COMPACT)
    assert len(planned(mirror(source, target, **TARGET))) == 1000
    assert (source.asked, target.asked) == (["own_configs"], ["own_configs"])


def test_a_plan_that_is_made_again_looks_at_no_topic_twice() -> None:
    source, target = Cluster({"x": 1, "y": 1}), Cluster({})
    source.configs = {"x": COMPACT, "y": COMPACT}
    target.refused = {"make a.y": RetriableError("away")}
    for _ in range(2):
        target.counts = {}
        with pytest.raises(RetriableError):
            mirror(source, target).task_configs(1)
    assert [doing for doing in source.asked if doing != "own_configs"] == ["state_of x", "state_of y"]


def test_a_topic_that_is_copied_already_is_copied_on_whatever_its_records_look_like() -> None:
    source, target = Cluster({"o": 1}), Cluster({"a.o": 1})
    source.configs, source.states = {"o": COMPACT}, {"o": "source offsets"}
    assert planned(mirror(source, target)) == ["o-0"]


def test_a_copy_of_state_that_was_made_before_is_not_copied_on(caplog: pytest.LogCaptureFixture) -> None:
    """MirrorMaker in Java copies such topics, too; here no row may be written to what looks like a cluster's state."""
    names = ["my_connect.Configs", "offsets", "o"]
    source, target = Cluster(dict.fromkeys(names, 1)), Cluster({f"a.{name}": 1 for name in names})
    source.configs = dict.fromkeys(names, COMPACT)
    target.states = {"a.my_connect.Configs": "connector configurations"}
    assert planned(mirror(source, target)) == ["o-0", "offsets-0"]
    assert "my_connect.Configs of the source is not copied on: it holds connector configurations" in caplog.text
    assert [doing for doing in target.asked if doing != "own_configs"] == [
        "state_of a.my_connect.Configs", "state_of a.offsets",
    ]  # fmt: skip


def test_without_an_alias_the_state_of_the_target_is_left_alone() -> None:
    source, target = Cluster({"o": 1, "connect-offsets": 1}), Cluster({"o": 1, "connect-offsets": 1})
    source.configs = {"o": COMPACT, "connect-offsets": COMPACT}
    source.states = {"o": "source offsets"}
    target.states = {"connect-offsets": "source offsets"}
    assert planned(mirror(source, target, **IDENTITY)) == ["o-0"]


def test_a_topic_of_the_same_name_is_not_widened_by_the_workers_own_login(caplog: pytest.LogCaptureFixture) -> None:
    source, target = Cluster({"o": 3}), Cluster({"o": 2})
    assert planned(mirror(source, target, **IDENTITY)) == ["o-0", "o-1"]
    assert target.counts == {"o": 2}
    assert "Topic o has 2 partitions and that of the source 3." in caplog.text
    assert len(planned(mirror(source, target, **IDENTITY, **TARGET))) == 3
    assert target.counts == {"o": 3}
