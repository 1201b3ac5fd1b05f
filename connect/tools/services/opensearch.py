"""Provides OpenSearch: one node without the plug-ins of its distribution, made of jars from Maven Central."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from connect.tools.services.ivy import Artifact, fetch
from connect.tools.services.java import find_java
from connect.tools.services.process.http_answer import answers_ok
from connect.tools.services.process.ports import LOOPBACK
from connect.tools.services.process.supervised import SupervisedService

OPENSEARCH_VERSION: Final = "2.18.0"
"""This is the last release whose jars are all there, and that runs on Java 17."""
NODE_START_S: Final = 180.0
_ORGANISATION: Final = "org.opensearch"
_MODULE: Final = "transport-netty4"
_ARTIFACTS: Final = (
    Artifact(_ORGANISATION, "opensearch", OPENSEARCH_VERSION),
    Artifact(_ORGANISATION, "opensearch-plugin-classloader", OPENSEARCH_VERSION),
    Artifact(f"{_ORGANISATION}.plugin", f"{_MODULE}-client", OPENSEARCH_VERSION),
    Artifact("org.apache.logging.log4j", "log4j-core", "2.21.0"),
)
_DESCRIPTOR: Final = f"""\
name={_MODULE}
description=Speaks HTTP by Netty
version={OPENSEARCH_VERSION}
opensearch.version={OPENSEARCH_VERSION}
java.version=11
classname=org.opensearch.transport.Netty4Plugin
extended.plugins=
has.native.controller=false
"""
_POLICY: Final = 'grant {\n  permission java.net.SocketPermission "*", "accept,connect,listen,resolve";\n};\n'
_LOG: Final = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %-5p %d{ISO8601} %c{1} %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


@dataclass(frozen=True)
class OpenSearchEndpoint:
    """Holds the address of the REST API."""

    url: str


class OpenSearchService(SupervisedService[OpenSearchEndpoint]):
    """Keeps one node that needs no login."""

    name: ClassVar[str] = "opensearch"
    port_names: ClassVar[tuple[str, ...]] = ("http", "transport")

    def prepare(self) -> None:
        find_java()
        _jars()

    def start(self, deadline_s: float = NODE_START_S) -> OpenSearchEndpoint:
        return super().start(deadline_s)

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        del deadline_s
        jars, module, settings = _jars(), folder / "modules" / _MODULE, folder / "config"
        of_module = [jar for jar in jars if jar.name.startswith(("netty-", _MODULE))]
        for made in (module, settings, folder / "plugins", folder / "lib"):
            made.mkdir(parents=True, exist_ok=True)
        for jar in of_module:
            shutil.copy(jar, module)  # A link would not do, as the node may read only files in its own folder.
        (module / "plugin-descriptor.properties").write_text(_DESCRIPTOR)
        (module / "plugin-security.policy").write_text(_POLICY)
        (settings / "log4j2.properties").write_text(_LOG)
        (settings / "opensearch.yml").write_text(
            f"cluster.name: connect\ndiscovery.type: single-node\nnetwork.host: {LOOPBACK}\n"
            f"http.port: {ports['http']}\ntransport.port: {ports['transport']}\n"
            "cluster.routing.allocation.disk.threshold_enabled: false\n"
        )
        return [
            *(str(find_java().launcher), "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            # Without native calls it neither asks which user runs it, who may be root, nor locks its memory.
            *("-Djna.nosys=true", "-Djna.noclasspath=true", "-Djna.nounpack=true"),
            *("-Djava.security.manager=allow", "-Dlog4j2.disable.jmx=true", "-Dopensearch.distribution.type=tar"),
            *(f"-Dopensearch.path.home={folder}", f"-Dopensearch.path.conf={settings}"),
            *("-cp", ":".join(str(jar) for jar in jars if jar not in of_module)),
            "org.opensearch.bootstrap.OpenSearch",
        ]

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> OpenSearchEndpoint:
        del folder
        return OpenSearchEndpoint(f"http://{LOOPBACK}:{ports['http']}")

    def _answers(self, endpoint: OpenSearchEndpoint, timeout_s: float) -> bool:
        return answers_ok(endpoint.url, "/_cluster/health", timeout_s)


def _jars() -> Sequence[Path]:
    return sorted(fetch(f"opensearch-{OPENSEARCH_VERSION}", _ARTIFACTS).glob("*.jar"))
