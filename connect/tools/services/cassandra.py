"""Provides Apache Cassandra: one node with change data capture, on a loopback address."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

import yaml

from connect.tools.services.ivy import Artifact, fetch
from connect.tools.services.java import find_java
from connect.tools.services.process.errors import ServiceError
from connect.tools.services.process.ports import LOOPBACK, accepts_connections
from connect.tools.services.process.supervised import SupervisedService

CASSANDRA_VERSION: Final = "5.0.5"
OLD_VERSION: Final = "4.1.9"
"""This is a release of the version before, which runs on Java 17 although it was not made for it."""
_JAMM: Final = {CASSANDRA_VERSION: "0.4.0", OLD_VERSION: "0.3.2"}
"""Maps each release to the version of jamm, the Java agent by which it measures the size of objects."""
NODE_START_S: Final = 180.0
"""A node starts in 6 s on an idle machine, and takes several times as long if others use the same cores."""

_EXPORTS: Final = (
    "java.base/jdk.internal.misc", "java.base/java.lang.ref", "java.sql/java.sql", "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server", "java.management.rmi/com.sun.jmx.remote.internal.rmi",
    "java.management/com.sun.jmx.remote.security", "jdk.unsupported/sun.misc",
)  # fmt: skip
_OPENS: Final = (
    "java.base/java.lang", "java.base/java.lang.module", "java.base/java.lang.reflect", "java.base/java.io",
    "java.base/java.nio", "java.base/java.util", "java.base/sun.nio.ch", "java.base/jdk.internal.loader",
    "java.base/jdk.internal.ref", "java.base/jdk.internal.reflect", "java.base/jdk.internal.math",
    "java.base/jdk.internal.module", "java.base/jdk.internal.util.jar", "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic", "java.base/java.util.concurrent.locks",
    "jdk.management/com.sun.management.internal",
)  # fmt: skip
"""Java 17 has to open these packages to Cassandra (conf/jvm17-server.options of 5.0, and what 4.1 needs to measure
objects).
"""
_SEEDS: Final = "org.apache.cassandra.locator.SimpleSeedProvider"
_LOGBACK: Final = """\
<configuration>
  <appender name="console" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date{ISO8601} %logger{0} %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="console"/></root>
</configuration>
"""


@dataclass(frozen=True)
class CassandraEndpoint:
    """Tells where clients connect, and in which folder the node puts the commit log of tables with change data capture.

    Further nodes join its cluster by `seed`.
    """

    host: str
    port: int
    cdc_raw_folder: Path
    seed: str


class CassandraService(SupervisedService[CassandraEndpoint]):
    """Keeps one node that needs no login.

    `settings` override those of cassandra.yaml, key by key. `version` is CASSANDRA_VERSION or OLD_VERSION. `seed` is
    the one of a running node, whose cluster this node joins; start nodes one after the other, each with its own
    loopback `address`. With `optimised` Java also uses its slower compiler for code that runs often, as in production.
    It is for measurements, as short runs would wait for it.
    """

    name: ClassVar[str] = "cassandra"
    port_names: ClassVar[tuple[str, ...]] = ("native", "storage", "jmx")
    stop_grace_s: ClassVar[float] = 60.0

    def __init__(
        self,
        *,
        data_folder: Path | None = None,
        ports: Mapping[str, int] | None = None,
        settings: Mapping[str, object] | None = None,
        address: str = LOOPBACK,
        seed: str | None = None,
        version: str = CASSANDRA_VERSION,
        heap_mib: int = 384,
        optimised: bool = False,
    ) -> None:
        super().__init__(data_folder=data_folder, ports=ports)
        self._settings = dict(settings or {})
        self._address = address
        self._seed = seed
        self._version = version
        self._heap_mib = heap_mib
        self._optimised = optimised

    def nodetool(self, *arguments: str, timeout_s: float = 300.0) -> str:
        """Ask the running node by the tool that operators use.

        Return the tool's output. ServiceError: it failed.
        """
        jars = _jars(self._version)
        command = [
            *(str(find_java().launcher), "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            *("-Djava.security.manager=allow", "-Dcom.sun.jndi.rmiURLParsing=legacy"),
            *(word for package in _EXPORTS for word in ("--add-exports", f"{package}=ALL-UNNAMED")),
            *(word for package in _OPENS for word in ("--add-opens", f"{package}=ALL-UNNAMED")),
            *("-cp", f"{jars}{os.sep}*", "org.apache.cassandra.tools.NodeTool"),
            *("-h", LOOPBACK, "-p", str(self._ports["jmx"]), *arguments),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)  # noqa: S603 - the command is built here, without a shell
        if done.returncode:
            raise ServiceError(
                f"nodetool {' '.join(arguments)} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}",
                fix=f"See the node's log, {self.log_path}.",
            )
        return done.stdout

    def prepare(self) -> None:
        find_java()
        _jars(self._version)

    def start(self, deadline_s: float = NODE_START_S) -> CassandraEndpoint:
        return super().start(deadline_s)

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        del deadline_s
        yaml_path, logback_path = folder / "cassandra.yaml", folder / "logback.xml"
        settings = {**node_settings(folder, ports, self._address), **self._settings}
        seeds = self._seed or self._endpoint(folder, ports).seed
        settings["seed_provider"] = [{"class_name": _SEEDS, "parameters": [{"seeds": seeds}]}]
        yaml_path.write_text(yaml.safe_dump(settings))
        logback_path.write_text(_LOGBACK)
        jars = _jars(self._version)
        return [
            *(str(find_java().launcher), f"-Xms{self._heap_mib}m", f"-Xmx{self._heap_mib}m"),
            *("-XX:+UseSerialGC", "-XX:MaxDirectMemorySize=128m", "-Xss512k"),
            *(() if self._optimised else ("-XX:TieredStopAtLevel=1",)),
            f"-javaagent:{jars / _jamm(self._version).file_name}",
            # Cassandra 4 sets its own security manager, which Java 17 allows only with this option.
            "-Djava.security.manager=allow",
            *("-Djdk.attach.allowAttachSelf=true", "-Dio.netty.tryReflectionSetAccessible=true"),
            "-Dchronicle.analytics.disable=true",
            *(word for package in _EXPORTS for word in ("--add-exports", f"{package}=ALL-UNNAMED")),
            *(word for package in _OPENS for word in ("--add-opens", f"{package}=ALL-UNNAMED")),
            *(f"-Dcassandra.config={yaml_path.as_uri()}", f"-Dlogback.configurationFile={logback_path}"),
            *(f"-Dcassandra.storagedir={folder}", f"-Dcassandra.jmx.local.port={ports['jmx']}"),
            *("-Dcassandra-foreground=yes", "-Dcassandra.skip_wait_for_gossip_to_settle=0"),
            *("-Dcassandra.ring_delay_ms=100", "-Dcassandra.superuser_setup_delay_ms=0"),
            # A thread reads the clock so often, for time limits of seconds. The default of 2 ms is a fifth of what a
            # small node computes; with 20 ms it was still a third of an idle node and half of one on a busy machine.
            "-Dcassandra.approximate_time_precision_ms=100",
            *("-cp", f"{jars}{os.sep}*", "org.apache.cassandra.service.CassandraDaemon"),
        ]

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> CassandraEndpoint:
        return CassandraEndpoint(
            self._address, ports["native"], folder / "cdc_raw", f"{self._address}:{ports['storage']}"
        )

    def _answers(self, endpoint: CassandraEndpoint, timeout_s: float) -> bool:
        del timeout_s
        # The native port opens last, when the node is in the ring.
        return accepts_connections(endpoint.port, endpoint.host)


def node_settings(folder: Path, ports: Mapping[str, int], address: str) -> dict[str, object]:
    """Return the settings of cassandra.yaml for a small node, whose commit log segments end soon and are synced
    often.
    """
    return {
        "cluster_name": "connect",
        "num_tokens": 4,
        "partitioner": "org.apache.cassandra.dht.Murmur3Partitioner",
        "endpoint_snitch": "SimpleSnitch",
        "data_file_directories": [str(folder / "data")],
        "commitlog_directory": str(folder / "commitlog"),
        "cdc_raw_directory": str(folder / "cdc_raw"),
        "hints_directory": str(folder / "hints"),
        "saved_caches_directory": str(folder / "saved_caches"),
        "cdc_enabled": True,
        "cdc_total_space": "256MiB",
        "commitlog_sync": "periodic",
        "commitlog_sync_period": "100ms",
        "commitlog_segment_size": "1MiB",
        "listen_address": address,
        "rpc_address": address,
        "native_transport_port": ports["native"],
        "storage_port": ports["storage"],
        "memtable_heap_space": "48MiB",
        "memtable_offheap_space": "48MiB",
        "file_cache_size": "16MiB",
        "networking_cache_size": "16MiB",
        "key_cache_size": "4MiB",
        "auto_snapshot": False,
    }


def _jars(version: str) -> Path:
    server = Artifact("org.apache.cassandra", "cassandra-all", version)
    return fetch(f"cassandra-{version}", [server, _jamm(version)])


def _jamm(version: str) -> Artifact:
    return Artifact("com.github.jbellis", "jamm", _JAMM[version])
