import pytest
from confluent_kafka import Consumer

from connect.api.errors import ConfigError
from connect.kafka.client.settings import admin_settings, consumer_settings, is_secret, producer_settings, shares_client
from connect.kafka.consume.consumer import BatchConsumer

WORKER = {"bootstrap.servers": "broker:9092", "group.id": "workers", "key.converter": "x"}


def producer(worker=None, overrides=None, **more):
    return producer_settings({**WORKER, **(worker or {})}, overrides or {}, client_id="c", **more)


def consumer(worker=None, overrides=None, **more):
    return consumer_settings({**WORKER, **(worker or {})}, overrides or {}, client_id="c", **more)


def test_a_producer_is_safe_and_partitions_as_java_does_by_default():
    properties = producer().properties

    assert properties["acks"] == "all"
    assert properties["enable.idempotence"] is True
    assert properties["partitioner"] == "murmur2_random"
    assert properties["message.timeout.ms"] == 0
    assert properties["bootstrap.servers"] == "broker:9092"
    assert "group.id" not in properties


def test_the_connectors_override_beats_the_workers_prefix_which_beats_unprefixed_keys_which_beat_our_default():
    worker = {"linger.ms": "1", "security.protocol": "SSL", "producer.linger.ms": "2", "producer.acks": "1"}

    assert producer(worker).properties["linger.ms"] == "2"
    assert producer(worker).properties["acks"] == "1"
    assert producer(worker).properties["security.protocol"] == "SSL"
    assert producer(worker, {"linger.ms": "3"}).properties["linger.ms"] == "3"
    assert producer({"linger.ms": "1"}).properties["linger.ms"] == 10, "un-prefixed tuning keys are the worker's own"


@pytest.mark.parametrize(
    "key", ["ssl.providers", "plugin.library.paths", "ssl.engine.location", "sasl.kerberos.kinit.cmd"]
)
def test_no_connector_names_a_library_or_a_command(key):
    for settings in (
        producer(overrides={key: "/tmp/x"}),
        consumer(overrides={key: "/tmp/x"}),
        admin_settings(WORKER, {key: "/tmp/x"}, "c"),
    ):
        assert "/tmp/x" not in settings.properties.values()
    assert producer({"ssl.providers": "legacy"}, {"ssl.providers": "/tmp/x"}).properties["ssl.providers"] == "legacy"


@pytest.mark.parametrize(
    ("workers", "connectors", "shared"),
    [(None, None, True), ("false", None, False), ("false", "true", True), (None, "False", False), ("true", None, True)],
)
def test_a_client_is_shared_unless_worker_or_connector_say_otherwise(workers, connectors, shared):
    worker = WORKER | ({} if workers is None else {"producer.shared": workers})
    overrides = {} if connectors is None else {"shared": connectors}

    assert shares_client(worker, overrides) is shared
    settings = producer(worker, overrides)
    assert settings.unknown == []
    assert "shared" not in settings.properties


def test_keys_of_other_clients_do_not_reach_this_one():
    settings = producer({"consumer.fetch.min.bytes": "9", "admin.retries": "7", "offset.storage.topic": "o"})

    assert settings.unknown == []
    assert "fetch.min.bytes" not in settings.properties


def test_java_names_become_librdkafkas():
    settings = producer(
        overrides={
            "buffer.memory": "33554432",
            "max.request.size": "2000000",
            "batch.size": "0",
            "request.timeout.ms": "40000",
            "delivery.timeout.ms": "120000",
            "compression.type": "zstd",
            "compression.zstd.level": "5",
            "compression.lz4.level": "9",
            "max.in.flight.requests.per.connection": "1",
            "send.buffer.bytes": "-1",
            "partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner",
            "key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
            "max.block.ms": "9223372036854775807",
        }
    )

    expected = {
        "queue.buffering.max.kbytes": "32768",
        "message.max.bytes": "2000000",
        "batch.size": "1",
        "socket.timeout.ms": "40000",
        "request.timeout.ms": "40000",
        "message.timeout.ms": "120000",
        "compression.type": "zstd",
        "compression.level": "5",
        "max.in.flight.requests.per.connection": "1",
        "socket.send.buffer.bytes": "0",
        "partitioner": "random",
    }
    assert {k: settings.properties.get(k) for k in expected} == expected
    assert settings.unknown == []


def test_keys_that_neither_side_knows_are_dropped_and_told():
    assert producer(overrides={"interceptor.classes": "com.x.Y", "no.such.key": "1"}).unknown == [
        "interceptor.classes",
        "no.such.key",
    ]


def test_keys_that_would_run_code_on_the_worker_are_not_passed_on():
    settings = producer(overrides={"plugin.library.paths": "/x.so", "sasl.kerberos.kinit.cmd": "rm"})

    assert settings.unknown == ["plugin.library.paths", "sasl.kerberos.kinit.cmd"]
    assert not set(settings.unknown) & set(settings.properties)


def test_a_transactional_producer_leaves_the_delivery_timeout_to_the_transaction():
    assert "message.timeout.ms" not in producer(transactional_id="t").properties
    long = producer(overrides={"delivery.timeout.ms": "2147483647"}, transactional_id="t").properties
    assert "message.timeout.ms" not in long
    short = producer(overrides={"delivery.timeout.ms": "1000"}, transactional_id="t").properties
    assert short["message.timeout.ms"] == "1000"
    assert short["transactional.id"] == "t"


def test_javas_endless_delivery_timeout_is_endless_here():
    assert producer(overrides={"delivery.timeout.ms": "2147483647"}).properties["message.timeout.ms"] == 0


@pytest.mark.parametrize(
    ("given", "kept"), [(None, 25_000), ("2147483647", 25_000), ("0", 25_000), ("30000", 25_000), ("1000", "1000")]
)
def test_what_must_not_come_late_is_given_up_in_time(given, kept):
    overrides = {} if given is None else {"delivery.timeout.ms": given}
    assert producer(overrides=overrides, deliver_within_ms=25_000).properties["message.timeout.ms"] == kept


def test_a_consumer_commits_nothing_by_itself_and_starts_at_the_beginning():
    properties = consumer(group_id="connect-s").properties

    assert properties["enable.auto.commit"] is False
    assert properties["auto.offset.reset"] == "earliest"
    assert properties["partition.assignment.strategy"] == "cooperative-sticky"
    assert properties["group.id"] == "connect-s"
    assert properties["isolation.level"] == "read_committed"


def test_a_broker_that_says_nothing_is_given_up_after_ten_seconds_unless_the_user_says_otherwise():
    for properties in (producer().properties, consumer().properties, admin_settings(WORKER, {}, "c").properties):
        assert properties["socket.timeout.ms"] == 10_000
        assert properties["api.version.request.timeout.ms"] == 3_000
    assert consumer(overrides={"request.timeout.ms": "40000"}).properties["socket.timeout.ms"] == "40000"


def test_consumer_names_become_librdkafkas():
    properties = consumer(
        overrides={
            "fetch.max.wait.ms": "100",
            "max.poll.records": "10",
            "auto.offset.reset": "none",
            "group.id": "mine",
            "isolation.level": "read_uncommitted",
            "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor,"
            "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        },
        group_id="connect-s",
    ).properties

    assert properties["fetch.wait.max.ms"] == "100"
    assert properties["auto.offset.reset"] == "error"
    assert properties["group.id"] == "mine"
    assert properties["isolation.level"] == "read_uncommitted"
    assert properties["partition.assignment.strategy"] == "cooperative-sticky"
    assert "max.poll.records" not in properties


@pytest.mark.parametrize("protocol", ["consumer", "CONSUMER"])
def test_a_group_of_the_new_protocol_leaves_to_the_brokers_what_they_decide(protocol):
    worker = {**WORKER, "consumer.session.timeout.ms": "10000", "consumer.heartbeat.interval.ms": "3000"}
    given = {"group.protocol": protocol, "session.timeout.ms": "6000"}
    found = consumer_settings(worker, given, client_id="c", group_id="g")
    assert found.properties["group.protocol"] == "consumer"
    assert found.properties.keys().isdisjoint(
        {"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"}
    )
    assert found.unknown == ["session.timeout.ms"]
    Consumer(dict(found.properties)).close()  # librdkafka takes them


def test_login_by_jaas_becomes_user_name_and_password():
    jaas = (
        'org.apache.kafka.common.security.scram.ScramLoginModule required username="al\\"ice" password=\'s3;cret=\' ;'
    )
    worker = {"sasl.jaas.config": jaas, "sasl.mechanism": "SCRAM-SHA-512", "security.protocol": "SASL_SSL"}

    for settings in (producer(worker), consumer(worker), admin_settings({**WORKER, **worker}, {}, "a")):
        assert settings.properties["sasl.username"] == 'al"ice'
        assert settings.properties["sasl.password"] == "s3;cret="
        assert settings.properties["sasl.mechanism"] == "SCRAM-SHA-512"
        assert "sasl.jaas.config" not in settings.properties


def test_oauth_by_jaas_becomes_oidc():
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
    jaas = f"{module} required clientId=id clientSecret=x scope='a b';"
    properties = producer({"sasl.jaas.config": jaas, "sasl.oauthbearer.token.endpoint.url": "https://t"}).properties

    assert properties["sasl.oauthbearer.method"] == "oidc"
    assert properties["sasl.oauthbearer.client.id"] == "id"
    assert properties["sasl.oauthbearer.scope"] == "a b"


def test_pem_stores_become_files_and_texts():
    properties = producer(
        {
            "ssl.truststore.location": "/ca.pem",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": "/client.txt",
            "ssl.key.password": "pw",
            "ssl.endpoint.identification.algorithm": "",
        }
    ).properties

    assert properties["ssl.ca.location"] == "/ca.pem"
    assert properties["ssl.certificate.location"] == properties["ssl.key.location"] == "/client.txt"
    assert properties["ssl.endpoint.identification.algorithm"] == "none"


def test_every_broken_key_is_named_at_once_and_no_secret_is_shown():
    worker = {
        "ssl.truststore.location": "/ca.jks",
        "ssl.keystore.location": "/client.jks",
        "ssl.keystore.password": "CANARY1",
        "sasl.jaas.config": 'com.corp.OwnModule required password="CANARY2";',
        "producer.buffer.memory": "lots",
    }
    with pytest.raises(ConfigError) as caught:
        producer(worker)

    keys = {problem.key for problem in caught.value.problems}
    assert keys == {"ssl.truststore.location", "ssl.keystore.location", "sasl.jaas.config", "buffer.memory"}
    assert "CANARY" not in str(caught.value)


def test_what_is_shown_of_settings_holds_no_secret():
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="CANARY";'
    settings = producer(
        {"sasl.jaas.config": jaas, "ssl.keystore.key": "CANARY", "sasl.oauthbearer.client.secret": "CANARY"}
    )

    assert "CANARY" in str(dict(settings.properties))
    assert "CANARY" not in repr(settings)
    assert "CANARY" not in str(settings)
    assert is_secret("sasl.password")
    assert not is_secret("bootstrap.servers")


def test_the_produce_path_is_ours_and_comes_with_the_producers_prefix():
    assert producer({"producer.path": "columnar"}).properties["producer.path"] == "columnar"
    assert producer(overrides={"path": "plain"}).properties["producer.path"] == "plain"


def test_the_consume_path_is_ours_and_no_matter_of_consumers_without_a_group():
    given = {"consumer.path": "plain"}
    assert consumer_settings(given, {}, client_id="c", group_id="g").properties["consumer.path"] == "plain"
    assert "consumer.path" not in consumer_settings(given, {}, client_id="c").properties


def test_a_consume_path_that_there_is_not_is_named():
    with pytest.raises(ConfigError, match="must be one of columnar, plain"):
        BatchConsumer({"group.id": "g", "consumer.path": "fast"})


def test_librdkafka_takes_what_we_give_it():
    from confluent_kafka import Consumer, Producer

    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "u"}
    worker = {**login, "bootstrap.servers": "127.0.0.1:1", "sasl.password": "p"}
    slow = {"request.timeout.ms": "30000"}
    quiet = {"log_level": 0}

    clients = [
        Producer({**producer(worker, slow).properties, **quiet}),
        Producer({**producer(worker, slow, transactional_id="t").properties, **quiet}),
        Consumer({**consumer(worker, {"auto.offset.reset": "none"}).properties, **quiet}),
    ]

    assert all(clients)
    clients.pop().close()


@pytest.mark.parametrize("given", [
    {"acks": "1"}, {"acks": "0"}, {"retries": "0"}, {"max.in.flight.requests.per.connection": "10"},
    {"enable.idempotence": "false", "acks": "1"}, {"max.in.flight": "10"},
])  # fmt: skip
def test_a_producer_that_waits_for_less_is_none_that_is_idempotent_as_in_java(given):
    from confluent_kafka import Producer

    properties = producer({"bootstrap.servers": ""}, given).properties

    assert str(properties["enable.idempotence"]).lower() == "false"
    assert "max.in.flight" in "".join(given) or properties["max.in.flight.requests.per.connection"] == 1
    assert Producer({**properties, "log_level": 0}) is not None


@pytest.mark.parametrize("given", [
    {"acks": "-1"}, {"acks": "ALL"}, {"retries": "3"}, {"max.in.flight.requests.per.connection": "5"},
])  # fmt: skip
def test_a_producer_that_waits_for_all_stays_idempotent(given):
    assert producer(overrides=given).properties["enable.idempotence"] is True


def test_who_asks_for_idempotence_and_less_is_refused_as_in_java():
    from confluent_kafka import KafkaException, Producer

    for given, more in [
        ({"acks": "1", "enable.idempotence": "true"}, {}),
        ({"acks": "1"}, {"transactional_id": "t"}),
    ]:
        with pytest.raises(KafkaException, match="must be set to `all`"):
            Producer({**producer({"bootstrap.servers": ""}, given, **more).properties, "log_level": 0})


def test_clients_connect_soon_and_only_sinks_wait_longer_as_there_may_be_many_of_them():
    def wait_ms(settings):
        return settings.properties["reconnect.backoff.ms"]

    admin = admin_settings(WORKER, {}, "c")

    assert (wait_ms(producer()), wait_ms(admin), wait_ms(consumer())) == (20, 20, 100)
    assert wait_ms(consumer(group_id="connect-sink")) == 500
    assert wait_ms(consumer({"consumer.reconnect.backoff.ms": "50"}, group_id="connect-sink")) == "50"


@pytest.mark.parametrize(
    ("given", "kbytes"),
    [
        ({}, 32_768),
        ({"max.request.size": "110000000"}, 107_423),
        ({"max.request.size": "110000000", "buffer.memory": "1048576"}, 107_423),
        ({"max.request.size": "110000000", "buffer.memory": "220000000"}, "214843"),
        ({"message.max.bytes": "lots"}, 32_768),
    ],
)
def test_the_largest_record_has_room_in_the_queue(given: dict[str, str], kbytes: object):
    made = producer_settings({"bootstrap.servers": "b:1"}, given, client_id="c")
    assert made.properties["queue.buffering.max.kbytes"] == kbytes


def test_a_duration_of_java_s_is_for_readers_that_know_it_alone():
    given = {"auto.offset.reset": "by_duration:PT1H"}
    assert consumer(WORKER, given).properties["auto.offset.reset"] == "earliest"
    kept = consumer_settings(WORKER, given, client_id="c", keeps_duration=True).properties
    assert kept["auto.offset.reset"] == "by_duration:pt1h"
    with pytest.raises(ConfigError, match="span of time"):
        consumer(WORKER, {"auto.offset.reset": "by_duration:soon"})
