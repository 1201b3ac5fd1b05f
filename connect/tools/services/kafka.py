"""Provides Apache Kafka in KRaft mode: broker and controller in one process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from connect.tools.services.class_archive import archived_classes
from connect.tools.services.ivy import Artifact, fetch
from connect.tools.services.java import Java, find_java
from connect.tools.services.kafka_storage import as_properties, format_data, formatted_model, is_formatted, new_id
from connect.tools.services.login import Login
from connect.tools.services.process.ports import LOOPBACK, accepts_connections
from connect.tools.services.process.private_file import write_private
from connect.tools.services.process.service import START_DEADLINE_S
from connect.tools.services.process.supervised import SupervisedService

KAFKA_VERSION: Final = "4.1.0"
ARTIFACTS: Final = (
    Artifact("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
    # Kafka's jars have log4j, but not the bridge from the logging interface that the broker uses.
    Artifact("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3"),
)

# With these a JVM starts quickly and stays small; a benchmark gives none, so that the JVM chooses.
QUICK_START_JVM: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

_LOG4J: Final = """\
status=error
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=[%d] %p %m (%c)%n
logger.settings.name=org.apache.kafka.common.config
logger.settings.level=warn
logger.brokerSettings.name=kafka.server.KafkaConfig
logger.brokerSettings.level=warn
rootLogger.level=info
rootLogger.appenderRef.console.ref=console
"""


@dataclass(frozen=True)
class KafkaEndpoint:
    """Holds the address for clients, and the login where Kafka asks for one."""

    bootstrap_servers: str
    login: Login | None = None

    @property
    def clients(self) -> dict[str, str]:
        """Return the settings of clients, which librdkafka and a worker's file both take."""
        if self.login is None:
            return {"bootstrap.servers": self.bootstrap_servers}
        return {
            "bootstrap.servers": self.bootstrap_servers, "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN", "sasl.username": self.login.user, "sasl.password": self.login.password,
        }  # fmt: skip


class KafkaService(SupervisedService[KafkaEndpoint]):
    """Keeps one Kafka node. `properties` override the server properties (see `server_properties`), key by key.

    `cluster_id` is needed only if several nodes form one cluster. Topics are created on first use, as Kafka does unless
    `auto.create.topics.enable` is false. If a `login` is given, Kafka answers only this user, at all of its ports.
    """

    name: ClassVar[str] = "kafka"
    port_names: ClassVar[tuple[str, ...]] = ("broker", "controller")

    def __init__(
        self,
        *,
        data_folder: Path | None = None,
        ports: Mapping[str, int] | None = None,
        properties: Mapping[str, str] | None = None,
        heap_mib: int = 512,
        jvm_options: Sequence[str] = QUICK_START_JVM,
        cluster_id: str | None = None,
        login: Login | None = None,
    ) -> None:
        super().__init__(data_folder=data_folder, ports=ports)
        self._login = login
        self._properties = {**(asking_for(login) if login is not None else {}), **(properties or {})}
        self._jvm_options = (f"-Xmx{heap_mib}m", *jvm_options)
        self._cluster_id = cluster_id or new_id()

    def prepare(self) -> None:
        java = find_java()
        # These are made one after the other, as each is made under the lock of the cache.
        formatted_model(KAFKA_VERSION, self._java(java), START_DEADLINE_S)
        self._classes(java)

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        log4j_path, properties_path = folder / "log4j2.properties", folder / "server.properties"
        log4j_path.write_text(_LOG4J)
        properties = {**server_properties(ports, data_folder=folder / "data"), **self._properties}
        write_private(properties_path, as_properties(properties))
        java = find_java()
        if not is_formatted(folder / "data"):
            model = formatted_model(KAFKA_VERSION, self._java(java), deadline_s)
            format_data(folder / "data", model, node_id=properties["node.id"], cluster_id=self._cluster_id)
        options = [*self._classes(java), f"-Dlog4j2.configurationFile={log4j_path.as_uri()}"]
        return [*self._java(java, *options), "kafka.Kafka", str(properties_path)]

    def _java(self, java: Java, *options: str) -> Sequence[str]:
        """Return the command line up to the main class."""
        jars = fetch(f"kafka-{KAFKA_VERSION}", ARTIFACTS)
        return [str(java.launcher), *self._jvm_options, *options, "-cp", f"{jars}/*"]

    def _classes(self, java: Java) -> Sequence[str]:
        def start(option: str) -> KafkaService:
            return KafkaService(jvm_options=(*QUICK_START_JVM, option))

        return archived_classes(f"kafka-{KAFKA_VERSION}", java, self._jvm_options, start)

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> KafkaEndpoint:
        del folder
        return KafkaEndpoint(f"{LOOPBACK}:{ports['broker']}", self._login)

    def _answers(self, endpoint: KafkaEndpoint, timeout_s: float) -> bool:
        # Without this, the client complains on standard error about every refused connection.
        if not accepts_connections(int(endpoint.bootstrap_servers.rpartition(":")[2])):
            return False
        return _cluster_has_brokers(endpoint.clients, timeout_s)


def server_properties(ports: Mapping[str, int], *, data_folder: Path) -> dict[str, str]:
    """Return the properties of a single node: Kafka's defaults, except for addresses, replication and quick
    restarts.
    """
    broker, controller = f"{LOOPBACK}:{ports['broker']}", f"{LOOPBACK}:{ports['controller']}"
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{controller}",
        "listeners": f"PLAINTEXT://{broker},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{broker}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "log.dirs": str(data_folder),
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        # With the default of 50 partitions each, the first group and the first transaction of a broker take 4 s.
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        # So workers on one machine can be noticed sooner when they are gone; Kafka's default is 6 s.
        "group.min.session.timeout.ms": "1000",
        # A killed broker can only register again when its old session has timed out; Kafka's default is 9 s.
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
    }


def asking_for(login: Login) -> dict[str, str]:
    """Return the properties of a node that lets only one user in, and is itself that user to other nodes."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    name, secret = login.user, login.password
    users = f'{module} username="{name}" password="{secret}" user_{name}="{secret}";'
    return {
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        # Otherwise the node takes the protocol of that name for its own clients, which have no login.
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": users,
        "listener.name.controller.plain.sasl.jaas.config": users,
    }


def _cluster_has_brokers(clients: Mapping[str, str], timeout_s: float) -> bool:
    from confluent_kafka import KafkaException  # Importing this package must stay light.
    from confluent_kafka.admin import AdminClient

    client = AdminClient({**clients, "log_level": 0})
    try:
        return bool(client.list_topics(timeout=timeout_s).brokers)
    except KafkaException:  # It is still starting.
        return False
