import socket
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from connect.tools.services import (
    JavaNotFoundError,
    KafkaEndpoint,
    KafkaService,
    PortTakenError,
    ServiceStartError,
)
from connect.tools.services.login import Login
from connect.tools.services.process.polling import poll_until


def test_what_is_produced_can_be_consumed(kafka: KafkaEndpoint, topic_name: str) -> None:
    produce(kafka, topic_name, b"hello")
    assert consume_one(kafka, topic_name) == b"hello"


@pytest.mark.chaos
def test_a_killed_broker_comes_back_on_the_same_port_with_its_data_and_stop_may_come_again(tmp_path: Path) -> None:
    with KafkaService(data_folder=tmp_path, heap_mib=256, properties={"broker.session.timeout.ms": "1500"}) as service:
        before, pid = service.endpoint, service.pid
        assert "Kafka Server started" in service.log_path.read_text()
        assert service.start() == before
        assert service.pid == pid, "A running broker was started again."
        produce(before, "kept", b"kept")

        service.kill()
        assert not service.running
        assert service.start() == before

        assert service.pid != pid
        assert consume_one(before, "kept") == b"kept"
        service.stop()
        service.stop()
        assert not service.running
    assert (tmp_path / "data" / "meta.properties").exists()


def test_a_broker_starts_from_loaded_classes_and_kill_9_of_the_parent_leaves_nothing_of_it() -> None:
    program = """
import signal
from connect.tools.services import KafkaService
service = KafkaService(heap_mib=256)
service.start()
print(service.pid, service.log_path.parent, flush=True)
signal.pause()
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid, folder = parent.stdout.readline().split()
    mapped = {Path(mapping.path).name for mapping in psutil.Process(int(pid)).memory_maps()}
    assert "classes.jsa" in mapped, "It started without the classes that an earlier broker had loaded."

    parent.kill()
    parent.wait()

    poll_until(lambda: not psutil.pid_exists(int(pid)), deadline_s=10, waiting_for="the broker to end", fix="")
    poll_until(lambda: not Path(folder).exists(), deadline_s=10, waiting_for="the folder to go", fix="")


def test_a_taken_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        service = KafkaService(ports={"broker": port})
        with pytest.raises(PortTakenError, match=f"Port {port} on 127.0.0.1 is already in use"):
            service.start()
        service.close()


def test_a_missing_java_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(JavaNotFoundError, match=r"No Java found.*Install Java 17 or later"):
        KafkaService().start()


def test_a_broker_that_ends_while_it_starts_shows_the_end_of_its_log() -> None:
    service = KafkaService(properties={"broker.session.timeout.ms": "soon"})
    with pytest.raises(ServiceStartError, match=r"(?s)soon.*See "):
        service.start()
    assert not service.running
    service.close()


def test_a_broker_with_a_login_answers_nobody_else_at_any_of_its_ports() -> None:
    with KafkaService(heap_mib=256, login=Login("me", "hidden-1")) as service, KafkaService(heap_mib=256) as open_one:
        ports = {endpoint: ports_of(endpoint) for endpoint in (service, open_one)}
        assert [answers_anybody(port) for port in ports[open_one]] == [True, True], "the question itself is answered"
        assert [answers_anybody(port) for port in ports[service]] == [False, False]
        assert AdminClient(service.endpoint.clients).list_topics(timeout=20).brokers
        commit_one(service.endpoint)
        text = (service.log_path.parent / "server.properties").stat()
        assert text.st_mode & 0o077 == 0
        assert "hidden-1" not in service.log_path.read_text()


def commit_one(kafka: KafkaEndpoint) -> None:
    """Write a record in a transaction, for which the node asks itself. KafkaException: it does not let itself in."""
    producer = Producer({**kafka.clients, "transactional.id": "one"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("committed", b"value")
    producer.commit_transaction(30)


def ports_of(service: KafkaService) -> list[int]:
    """The ports at which a node listens: the broker's and the controller's."""
    assert service.pid is not None
    own = psutil.Process(service.pid).net_connections("tcp")
    return sorted({one.laddr.port for one in own if one.status == psutil.CONN_LISTEN})


def answers_anybody(port: int) -> bool:
    """Return True if a node tells its settings to who has not logged in.

    Source: Kafka's "Protocol Guide", DescribeConfigs, which brokers and controllers both answer.
    """
    question = struct.pack("!hhih", 32, 1, 7, -1) + struct.pack("!ibh1sib", 1, 4, 1, b"1", -1, 0)
    with socket.create_connection(("127.0.0.1", port), 20) as client:
        client.sendall(struct.pack("!i", len(question)) + question)
        with suppress(ConnectionResetError):
            return client.recv(8)[4:] == struct.pack("!i", 7)
    return False


def produce(kafka: KafkaEndpoint, topic: str, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "acks": "all"})
    producer.produce(topic, value)
    assert producer.flush(20) == 0


def consume_one(kafka: KafkaEndpoint, topic: str) -> bytes | None:
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": topic, "auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    try:
        consumer.subscribe([topic])
        message = consumer.poll(20)
        return message.value() if message is not None else None
    finally:
        consumer.close()
