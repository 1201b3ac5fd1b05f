"""Provides Apache Kafka's own Connect worker, in Java. Ours is compared with it, and takes over from it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from connect.tools.services.class_archive import archived_classes
from connect.tools.services.ivy import Artifact, fetch
from connect.tools.services.java import Java, find_java
from connect.tools.services.kafka import KAFKA_VERSION, QUICK_START_JVM, KafkaService
from connect.tools.services.kafka_storage import as_properties
from connect.tools.services.process.http_answer import answers_ok
from connect.tools.services.process.ports import LOOPBACK
from connect.tools.services.process.supervised import SupervisedService

WORKER: Final = (
    Artifact("org.apache.kafka", "connect-runtime", KAFKA_VERSION),
    Artifact("org.apache.kafka", "connect-json", KAFKA_VERSION),
    Artifact("org.apache.kafka", "connect-transforms", KAFKA_VERSION),
    # As for the broker, log4j comes without the bridge from the logging interface.
    Artifact("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3"),
)
# These have their own folder, as it becomes the plug-in path, and a worker opens every jar that it finds there.
PLUGINS: Final = (Artifact("org.apache.kafka", "connect-file", KAFKA_VERSION, transitive=False),)

_LOG4J: Final = """\
status=error
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=[%d] %p %m (%c)%n
logger.clients.name=org.apache.kafka.clients
logger.clients.level=warn
rootLogger.level=info
rootLogger.appenderRef.console.ref=console
"""


@dataclass(frozen=True)
class JavaConnectEndpoint:
    """Holds the address of the REST API."""

    url: str


@dataclass(frozen=True)
class InternalTopics:
    """Names the three topics in which a Connect cluster keeps its whole state."""

    configs: str
    offsets: str
    status: str


class JavaConnectService(SupervisedService[JavaConnectEndpoint]):
    """Keeps one distributed worker with the file connectors and the JSON converter.

    `properties` override the worker properties (see `worker_properties`), key by key. Its state is in the topics, not
    in its data folder. So a new worker with the same `group_id` and `topics` goes on where another has stopped.
    """

    name: ClassVar[str] = "java-connect"
    port_names: ClassVar[tuple[str, ...]] = ("rest",)
    # By Kafka Connect's default tasks get 5 s to stop, and their offsets are stored after that.
    stop_grace_s: ClassVar[float] = 30.0
    ready_path: ClassVar[str] = "/health"
    """The worker has started when this path answers 200: `/health` does once the internal topics are read, `/` before
    that.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        group_id: str,
        topics: InternalTopics,
        data_folder: Path | None = None,
        ports: Mapping[str, int] | None = None,
        properties: Mapping[str, str] | None = None,
        heap_mib: int = 512,
        jvm_options: Sequence[str] = QUICK_START_JVM,
    ) -> None:
        super().__init__(data_folder=data_folder, ports=ports)
        self._bootstrap_servers = bootstrap_servers
        self._group_id = group_id
        self._topics = topics
        self._properties = dict(properties or {})
        self._jvm_options = (f"-Xmx{heap_mib}m", *jvm_options)

    def prepare(self) -> None:
        java = find_java()
        worker_jars()
        _plugin_jars()
        KafkaService().prepare()
        self._classes(java)

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        del deadline_s
        log4j_path, properties_path = folder / "log4j2.properties", folder / "worker.properties"
        log4j_path.write_text(_LOG4J)
        defaults = worker_properties(
            self._bootstrap_servers, ports, group_id=self._group_id, topics=self._topics, plugin_path=_plugin_jars()
        )
        properties_path.write_text(as_properties({**defaults, **self._properties}))
        found = find_java()
        java = [str(found.launcher), *self._jvm_options, *self._classes(found)]
        java += [f"-Dlog4j2.configurationFile={log4j_path.as_uri()}"]
        java += ["-cp", f"{worker_jars()}/*", "org.apache.kafka.connect.cli.ConnectDistributed"]
        return [*java, str(properties_path)]

    def _classes(self, java: Java) -> Sequence[str]:
        return archived_classes(f"java-connect-{KAFKA_VERSION}", java, self._jvm_options, _recorded)

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> JavaConnectEndpoint:
        del folder
        return JavaConnectEndpoint(url=f"http://{LOOPBACK}:{ports['rest']}")

    def _answers(self, endpoint: JavaConnectEndpoint, timeout_s: float) -> bool:
        return answers_ok(endpoint.url, self.ready_path, timeout_s)


@contextmanager
def _recorded(option: str) -> Iterator[JavaConnectService]:
    topics = InternalTopics("configs", "offsets", "status")
    options = (*QUICK_START_JVM, option)
    with (
        KafkaService() as kafka,
        JavaConnectService(
            kafka.endpoint.bootstrap_servers, group_id="recorded", topics=topics, jvm_options=options
        ) as worker,
    ):
        yield worker


def worker_properties(
    bootstrap_servers: str,
    ports: Mapping[str, int],
    *,
    group_id: str,
    topics: InternalTopics,
    plugin_path: Path,
) -> dict[str, str]:
    """Return a worker's properties: Kafka Connect's defaults, except for addresses, replication and quick starts."""
    json_converter = "org.apache.kafka.connect.json.JsonConverter"
    return {
        "bootstrap.servers": bootstrap_servers,
        "group.id": group_id,
        "config.storage.topic": topics.configs,
        "offset.storage.topic": topics.offsets,
        "status.storage.topic": topics.status,
        "config.storage.replication.factor": "1",
        "offset.storage.replication.factor": "1",
        "status.storage.replication.factor": "1",
        "key.converter": json_converter,
        "value.converter": json_converter,
        "listeners": f"http://{LOOPBACK}:{ports['rest']}",
        "rest.advertised.host.name": LOOPBACK,
        "plugin.path": str(plugin_path),
        # By default the worker would read every class of every jar (KIP-898).
        "plugin.discovery": "service_load",
        # By default the tasks of a worker that is gone would wait for it for 5 minutes.
        "scheduled.rebalance.max.delay.ms": "0",
    }


def worker_jars() -> Path:
    """Return the folder of the worker's own jars, including connect-api; they are fetched now if they are not there."""
    return fetch(f"java-connect-{KAFKA_VERSION}", WORKER)


def _plugin_jars() -> Path:
    return fetch(f"java-connect-file-{KAFKA_VERSION}", PLUGINS)
