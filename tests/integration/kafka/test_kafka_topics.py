import json

import pyarrow as pa
import pytest
from kafka_drive import in_s

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.records import TopicPartition
from connect.kafka.admin.topic_specs import InternalTopic, TopicSpec
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.errors import FencedError
from connect.kafka.client.settings import producer_settings
from connect.kafka.raw import RawBatch


def internal(name, **more):
    spec = TopicSpec(name, 1, more.pop("replication_factor", 1), {"cleanup.policy": "compact"})
    return InternalTopic(spec, "config.storage.topic", "connector configurations", **more)


def test_the_cluster_has_an_id(clients):
    assert len(clients.admin().cluster_id(in_s(60))) == 22


def test_a_topic_is_created_once_and_described(clients, topic_name):
    admin = clients.admin()

    assert admin.create(
        topic_name, partitions=3, replication_factor=-1, configs={"retention.ms": "1234"}, deadline=in_s(60)
    )
    assert not admin.create(topic_name, partitions=9, deadline=in_s(60))

    assert admin.partition_counts([topic_name, "no-such-topic"], in_s(60)) == {topic_name: 3}
    assert admin.describe([topic_name], in_s(60))[topic_name].replication_factor == 1
    assert admin.topics(in_s(60))[topic_name] == 3
    assert admin.configs(topic_name, in_s(60))["retention.ms"] == "1234"


def test_brokers_tell_of_the_described_topics_alone(kafka, clients, unique):
    """A list of all topics is megabytes where there are thousands."""
    names = [f"{unique}-{number}" for number in range(30)]
    admin = clients.admin()
    for name in names:
        admin.create(name, partitions=8, deadline=in_s(60))
    received = []
    said = {"statistics.interval.ms": 50, "stats_cb": lambda text: received.append(json.loads(text)["rx_bytes"])}
    looking = TopicAdmin({"bootstrap.servers": kafka.bootstrap_servers, **said})

    def told() -> int:
        """How many bytes came until now."""
        seen = len(received)
        while len(received) < seen + 2:
            looking._admin.client.poll(0.1)
        return received[-1]

    try:
        before = told()
        found = looking.describe([*names[:2], names[0], "no-such-topic", "no topic/name"], in_s(60))
        assert {name: topic.partitions for name, topic in found.items()} == dict.fromkeys(names[:2], 8)
        described = told()
        assert set(names) <= set(looking.topics(in_s(60)))
        assert 4 * (described - before) < told() - described
    finally:
        admin.delete(names, in_s(60))


def test_a_deleted_topic_is_gone_and_deleting_it_again_is_no_error(clients, topic_name):
    admin = clients.admin()
    admin.create(topic_name, deadline=in_s(60))

    admin.delete([topic_name], in_s(60))
    admin.delete([topic_name], in_s(60))

    deadline = in_s(60)
    while topic_name in admin.topics(deadline) and deadline.wait(0.1):
        pass
    assert topic_name not in admin.topics(in_s(60))


def test_a_topic_that_is_made_anew_has_another_id(clients, topic_name):
    admin = clients.admin()
    admin.create(topic_name, deadline=in_s(60))
    first = admin.topic_id(topic_name, in_s(60))
    assert first is not None
    assert len(first) == 22
    assert clients.admin().topic_id(topic_name, in_s(60)) == first

    admin.delete([topic_name], in_s(60))
    deadline = in_s(60)
    while topic_name in admin.topics(deadline) and deadline.wait(0.1):
        pass
    admin.create(topic_name, deadline=in_s(60))
    assert admin.topic_id(topic_name, in_s(60)) not in {first, None}


def test_a_topic_that_is_not_there_has_no_id(clients, topic_name):
    with pytest.raises(ConnectError, match=f"asking for the id of topic {topic_name}"):
        clients.admin().topic_id(topic_name, in_s(60))


def test_internal_topics_are_made_compacted_and_accepted_when_they_are_there(clients, topic_name):
    admin = clients.admin()

    admin.ensure_internal([internal(topic_name, single_partition=True)], in_s(60))
    admin.ensure_internal([internal(topic_name, single_partition=True)], in_s(60))

    assert admin.configs(topic_name, in_s(60))["cleanup.policy"] == "compact"


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_an_internal_topic_with_another_policy_is_refused_in_kafka_connects_words(clients, topic_name, policy):
    clients.topic(topic_name, cleanup_policy=policy)

    with pytest.raises(ConfigError) as caught:
        clients.admin().ensure_internal([internal(topic_name)], in_s(60))

    assert str(caught.value) == (
        f"Topic '{topic_name}' supplied via the 'config.storage.topic' property is required to have"
        " 'cleanup.policy=compact' to guarantee consistency and durability of connector configurations, but found the"
        f" topic currently has 'cleanup.policy={policy}'. Continuing would likely result in eventually losing connector"
        " configurations and problems restarting this Connect cluster in the future. Change the 'config.storage.topic'"
        " property in the Connect worker configurations to use a topic with 'cleanup.policy=compact'."
    )
    assert caught.value.key == "config.storage.topic"


def test_a_config_topic_with_several_partitions_is_refused(clients, topic_name):
    clients.topic(topic_name, 2, cleanup_policy="compact")

    with pytest.raises(ConfigError, match=r"single partition .* but found 2 partitions"):
        clients.admin().ensure_internal([internal(topic_name, single_partition=True)], in_s(60))


def test_too_high_a_replication_factor_names_its_key(clients, topic_name):
    with pytest.raises(ConfigError, match="replication factor of 3") as caught:
        clients.admin().ensure_internal([internal(topic_name, replication_factor=3)], in_s(60))

    assert caught.value.key == "config.storage.replication.factor"


def test_a_name_that_kafka_forbids_is_an_error(clients):
    with pytest.raises(ConnectError, match="creating topic a b"):
        clients.admin().create("a b", deadline=in_s(60))


def test_end_offsets_leave_open_transactions_out_where_asked(clients, topic_name, unique):
    topic = clients.topic(topic_name, 2)
    producer = clients.producer(transactional_id=unique)
    producer.init_transactions(in_s(60))
    producer.begin()
    producer.send(RawBatch(topic, pa.array([b"x"] * 3, pa.binary()), partition=1), in_s(60))
    producer.flush(in_s(60))
    zero, one = TopicPartition(topic, 0), TopicPartition(topic, 1)

    assert clients.admin().end_offsets([zero, one], in_s(60)) == {zero: 0, one: 3}
    assert clients.admin().end_offsets([one], in_s(60), committed_only=True) == {one: 0}
    producer.commit(in_s(60))
    deadline = in_s(60)
    while clients.admin().end_offsets([one], deadline, committed_only=True) != {one: 4} and deadline.wait(0.1):
        pass  # the marker of a committed transaction is written a little later
    assert clients.admin().end_offsets([one], in_s(60), committed_only=True) == {one: 4}
    assert clients.admin().beginning_offsets([one], in_s(60)) == {one: 0}
    assert clients.admin().end_offsets([], in_s(60)) == {}


def test_group_offsets_are_altered_and_deleted_while_the_group_is_empty(clients, topic_name, unique):
    topic = clients.topic(topic_name)
    admin = clients.admin()
    tp = TopicPartition(topic, 0)

    assert admin.group_offsets(unique, in_s(60)) == {}
    admin.alter_group_offsets(unique, {tp: 7}, in_s(60))
    assert admin.group_offsets(unique, in_s(60)) == {tp: 7}
    admin.delete_group(unique, in_s(60))
    assert admin.group_offsets(unique, in_s(60)) == {}
    admin.delete_group(unique, in_s(60))


def test_one_offset_of_a_group_is_forgotten_and_the_others_stay(clients, topic_name, unique):
    topic = clients.topic(topic_name, partitions=3)
    admin = clients.admin()
    first, second, third = (TopicPartition(topic, partition) for partition in range(3))
    admin.alter_group_offsets(unique, {first: 1, second: 2, third: 3}, in_s(60))
    nowhere = TopicPartition(f"{topic}-gone", 0)
    admin.alter_group_offsets(unique, {first: None, second: 5, nowhere: None}, in_s(60))
    assert admin.group_offsets(unique, in_s(60)) == {second: 5, third: 3}
    admin.alter_group_offsets(f"{unique}-unknown", {first: None}, in_s(60))
    admin.alter_group_offsets(unique, {}, in_s(60))


def test_group_offsets_are_left_alone_while_the_group_has_members(clients, topic_name, unique):
    topic = clients.topic(topic_name)
    consumer = clients.consumer(unique)
    consumer.subscribe([topic], lambda _: None, lambda _: None, lambda _: None)
    deadline = in_s(60)
    while not consumer.assignment() and not deadline.expired:
        consumer.poll(1, in_s(0.5))

    with pytest.raises(RetriableError, match="still has members"):
        clients.admin().alter_group_offsets(unique, {TopicPartition(topic, 0): 7}, in_s(60))
    with pytest.raises(RetriableError, match="still has members"):
        clients.admin().alter_group_offsets(unique, {TopicPartition(topic, 0): None}, in_s(60))
    with pytest.raises(RetriableError, match="still has members"):
        clients.admin().delete_group(unique, in_s(60))


def test_fencing_shuts_a_producer_out(clients, topic_name, unique):
    topic = clients.topic(topic_name)
    producer = clients.producer(transactional_id=unique)
    producer.init_transactions(in_s(60))
    producer.begin()
    producer.send(RawBatch(topic, pa.array([b"x"], pa.binary())), in_s(60))
    producer.flush(in_s(60))
    settings = producer_settings(clients.worker, {}, client_id="fence", transactional_id=unique).properties

    clients.admin().fence([settings], in_s(60))

    with pytest.raises(FencedError):
        producer.commit(in_s(60))


def test_without_a_broker_every_question_ends_by_its_deadline(clients, topic_name):
    clients.worker = {"bootstrap.servers": "127.0.0.1:1"}
    admin = clients.admin()

    for ask in (admin.cluster_id, admin.topics, lambda d: admin.create(topic_name, deadline=d)):
        deadline = in_s(1.5)
        with pytest.raises(RetriableError):
            ask(deadline)
        assert deadline.at_s - in_s(0).at_s > -30
