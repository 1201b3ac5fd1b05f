import pytest

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.runtime.settings.topic_groups import group_of, topic_groups
from connect.runtime.topics.topic_creation import CreatedTopics

DEFAULTS = {"default.partitions": "5", "default.replication.factor": "2"}


def groups(**given):
    named = {"name": "s", "connector.class": "S"}
    for key, value in given.items():
        named["topic.creation." + key] = value
    return topic_groups(SourceConnectorConfig.parse(named))


def test_without_settings_the_brokers_make_topics():
    assert groups() == ()
    assert groups(groups="") == ()


def test_the_first_group_that_takes_a_topic_counts_and_exclusion_wins():
    found = groups(
        **DEFAULTS,
        groups="inorder, compacted",
        **{
            "inorder.include": r"status, orders-\d+",
            "inorder.exclude": ".*-9",
            "inorder.partitions": "1",
            "compacted.include": ".*status.*, .*-9",
            "compacted.cleanup.policy": "compact",
            "default.retention.ms": "7",
        },
    )
    names = {t: group_of(found, t).name for t in ("status", "orders-1", "orders-9", "xstatusx", "orders", "a")}
    assert names == {
        "status": "inorder",
        "orders-1": "inorder",
        "orders-9": "compacted",
        "xstatusx": "compacted",
        "orders": "default",
        "a": "default",
    }


def test_a_group_inherits_numbers_but_no_topic_configs_of_the_default():
    inorder, default = groups(
        **DEFAULTS, groups="g", **{"g.include": "a", "g.cleanup.policy": "compact", "default.retention.ms": "7"}
    )
    assert (inorder.partitions, inorder.replication_factor, inorder.configs) == (5, 2, {"cleanup.policy": "compact"})
    assert (default.partitions, default.replication_factor, default.configs) == (5, 2, {"retention.ms": "7"})


def test_every_broken_key_is_named():
    with pytest.raises(ConfigError) as failed:
        groups(groups="g", **{"default.partitions": "0", "g.replication.factor": "x", "g.exclude": "("})
    assert {problem.key.removeprefix("topic.creation.") for problem in failed.value.problems} == {
        "default.partitions",
        "default.replication.factor",
        "g.replication.factor",
        "g.include",
        "g.exclude",
    }


class Admin:
    def __init__(self):
        self.there, self.asked, self.created, self.answers = set(), [], [], []

    def describe(self, names, deadline):
        self.asked += names
        if self.answers:
            raise self.answers.pop(0)
        return {name: name for name in names if name in self.there}

    def create(self, name, *, partitions, replication_factor, configs, deadline):
        if replication_factor == 99:
            raise ConnectError("Replication factor: 99 larger than available brokers: 1.")
        self.created.append((name, partitions, replication_factor, configs))
        return True


def topics(admin, **given):
    return CreatedTopics(groups(**DEFAULTS, **given), lambda: admin, "s-0")


def test_a_topic_is_looked_for_once_and_made_when_it_is_missing():
    admin = Admin()
    admin.there = {"old"}
    made = topics(admin)
    for topic in ("old", "new", "old", "new"):
        made.ensure(topic, Deadline.after(60))
    assert admin.asked == ["old", "new"]
    assert admin.created == [("new", 5, 2, {})]


def test_brokers_that_are_away_are_waited_for():
    admin = Admin()
    admin.answers = [RetriableError("away"), RetriableError("away")]
    topics(admin).ensure("t", Deadline.after(60))
    assert [name for name, *_ in admin.created] == ["t"]

    admin.answers = [RetriableError("away")]
    with pytest.raises(RetriableError, match="away"):
        topics(admin).ensure("t", Deadline.after(0))


def test_a_refusal_names_the_topic_its_group_and_its_settings():
    with pytest.raises(ConnectError, match=r"new topic t .*group g \(partitions=5, replication\.factor=99") as failed:
        topics(Admin(), groups="g", **{"g.include": "t", "g.replication.factor": "99"}).ensure("t", Deadline.after(60))
    assert "topic.creation.g.*" in str(failed.value)
