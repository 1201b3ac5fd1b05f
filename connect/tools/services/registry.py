"""Provides Apicurio Registry, a schema registry that also has Confluent's REST API, in one Java process."""

import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final

from connect.tools.services.class_archive import archived_classes
from connect.tools.services.ivy import Artifact, fetch
from connect.tools.services.java import Java, find_java
from connect.tools.services.kafka import QUICK_START_JVM
from connect.tools.services.process.cache import cache_folder, ensure_folder
from connect.tools.services.process.errors import ArtifactError
from connect.tools.services.process.http_answer import answers_ok
from connect.tools.services.process.ports import LOOPBACK
from connect.tools.services.process.supervised import SupervisedService

REGISTRY_VERSION: Final = "2.6.13.Final"
BUNDLE: Final = Artifact(
    "io.apicurio", "apicurio-registry-app", REGISTRY_VERSION, packaging="tar.gz", classifier="all", transitive=False
)
_RUNNER: Final = f"apicurio-registry-app-{REGISTRY_VERSION}-runner.jar"
_API: Final = "/apis/ccompat/v7"


@dataclass(frozen=True)
class RegistryEndpoint:
    """Holds the address of Confluent's API: `url` is a value for `schema.registry.url`."""

    url: str


class SchemaRegistryService(SupervisedService[RegistryEndpoint]):
    """Keeps one registry without a broker: its schemas are in a file if a data folder is given, or else in memory.

    `properties` are Java system properties of Apicurio. Unlike Confluent's registry it accepts any schema as a further
    version of a subject until a compatibility level is set (`PUT /config/{subject}`).
    """

    name: ClassVar[str] = "schema-registry"
    port_names: ClassVar[tuple[str, ...]] = ("http",)

    def __init__(
        self,
        *,
        data_folder: Path | None = None,
        ports: Mapping[str, int] | None = None,
        properties: Mapping[str, str] | None = None,
        heap_mib: int = 384,
        jvm_options: Sequence[str] = QUICK_START_JVM,
    ) -> None:
        super().__init__(data_folder=data_folder, ports=ports)
        self._properties = dict(properties or {})
        self._jvm_options = (f"-Xmx{heap_mib}m", *jvm_options)

    def prepare(self) -> None:
        java = find_java()
        _program()
        self._classes(java)

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        del deadline_s
        stored = {} if self._is_temporary else {"quarkus.datasource.jdbc.url": f"jdbc:h2:file:{folder}/schemas"}
        properties = {
            "quarkus.http.host": LOOPBACK,
            "quarkus.http.port": str(ports["http"]),
            "java.util.logging.manager": "org.jboss.logmanager.LogManager",
            **stored,
            **self._properties,
        }
        options = [f"-D{name}={value}" for name, value in properties.items()]
        java = find_java()
        options += [*self._jvm_options, *self._classes(java)]
        return [str(java.launcher), *options, "-jar", str(_program() / _RUNNER)]

    def _classes(self, java: Java) -> Sequence[str]:
        def start(option: str) -> SchemaRegistryService:
            return SchemaRegistryService(jvm_options=(*QUICK_START_JVM, option))

        return archived_classes(f"schema-registry-{REGISTRY_VERSION}", java, self._jvm_options, start)

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> RegistryEndpoint:
        del folder
        return RegistryEndpoint(url=f"http://{LOOPBACK}:{ports['http']}{_API}")

    def _answers(self, endpoint: RegistryEndpoint, timeout_s: float) -> bool:
        return answers_ok(endpoint.url, f"{_API}/subjects", timeout_s)


def _program() -> Path:
    """Return the folder of the cache with the unpacked bundle; it is fetched and unpacked now if it is not there."""
    bundle = fetch(f"schema-registry-{REGISTRY_VERSION}", [BUNDLE]) / BUNDLE.file_name
    return ensure_folder(
        cache_folder() / f"schema-registry-{REGISTRY_VERSION}-program",
        complete=lambda folder: (folder / _RUNNER).is_file(),
        fill=lambda folder: _unpack(bundle, folder),
    )


def _unpack(bundle: Path, into: Path) -> None:
    with tarfile.open(bundle) as archive:
        archive.extractall(into, filter="data")
    if not (into / _RUNNER).is_file():
        raise ArtifactError(f"{bundle} holds no {_RUNNER}.", fix="Remove that file and try again.")
