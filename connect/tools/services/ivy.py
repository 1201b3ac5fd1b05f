"""Fetches jars into the cache folder, once, with Ivy."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from connect.tools.services.ivy_jar import ivy_jar
from connect.tools.services.java import find_java
from connect.tools.services.process.cache import CACHE_KEY, FETCH_DEADLINE_S, cache_folder, ensure_folder
from connect.tools.services.process.errors import ArtifactError
from connect.tools.services.process.process import Command, run_to_end

IVY_SETTINGS_KEY: Final = "CONNECT_SERVICES_IVY_SETTINGS"
_MAVEN_NAMESPACE: Final = "http://ant.apache.org/ivy/maven"
_PATTERN: Final = "[artifact]-[revision](-[classifier]).[ext]"
_ACCESS_ERROR = re.compile(r"Server access error.*\((?P<reason>.+)\)")
_UNRESOLVED = re.compile(r":: (?P<artifact>\S+#\S+): (?P<reason>not found|.*error.*)")


@dataclass(frozen=True)
class Artifact:
    """Describes a Maven artifact. If `transitive` is True, all artifacts that it depends on belong to it."""

    group: str
    name: str
    version: str
    packaging: str = "jar"
    classifier: str = ""
    transitive: bool = True

    @property
    def file_name(self) -> str:
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.name}-{self.version}{classifier}.{self.packaging}"

    def __str__(self) -> str:
        return f"{self.group}:{self.name}:{self.version}"


def fetch(folder_name: str, artifacts: Sequence[Artifact], environ: Mapping[str, str] = os.environ) -> Path:
    """Return the cache's folder of that name with the artifacts' files; they are fetched now if one of them is missing.

    ArtifactError names what could not be fetched. CONNECT_SERVICES_IVY_SETTINGS may name a file of Ivy settings, for a
    mirror of Maven Central.
    """
    cache = cache_folder(environ)
    return ensure_folder(
        cache / folder_name,
        complete=lambda folder: all((folder / artifact.file_name).is_file() for artifact in artifacts),
        fill=lambda folder: _retrieve(artifacts, into=folder, cache=cache, environ=environ),
    )


def ivy_module(artifacts: Sequence[Artifact]) -> str:
    """Return the Ivy file that asks for the artifacts."""
    ET.register_namespace("m", _MAVEN_NAMESPACE)
    module = ET.Element("ivy-module", version="2.0")
    ET.SubElement(module, "info", organisation="connect", module="services")
    ET.SubElement(ET.SubElement(module, "configurations"), "conf", name="default")
    dependencies = ET.SubElement(module, "dependencies")
    for artifact in artifacts:
        _add_dependency(dependencies, artifact)
    return ET.tostring(module, encoding="unicode")


def unresolved(ivy_output: str, wanted: Sequence[Artifact]) -> str:
    """Return in a few words what Ivy could not fetch and why, from the text that it printed."""
    missing = _UNRESOLVED.search(ivy_output)
    name = missing["artifact"].replace("#", ":").replace(";", ":") if missing else ", ".join(map(str, wanted))
    access_error = _ACCESS_ERROR.search(ivy_output)
    reason = access_error["reason"] if access_error else missing["reason"] if missing else "Ivy failed"
    return f"{name} ({reason})"


def _add_dependency(dependencies: ET.Element, artifact: Artifact) -> None:
    dependency = ET.SubElement(
        dependencies,
        "dependency",
        org=artifact.group,
        name=artifact.name,
        rev=artifact.version,
        transitive=str(artifact.transitive).lower(),
        conf="default->default" if artifact.transitive else "default->*",
    )
    if artifact.packaging == "jar" and not artifact.classifier:
        return
    file = ET.SubElement(dependency, "artifact", name=artifact.name, type=artifact.packaging, ext=artifact.packaging)
    if artifact.classifier:
        file.set(f"{{{_MAVEN_NAMESPACE}}}classifier", artifact.classifier)


def _retrieve(artifacts: Sequence[Artifact], *, into: Path, cache: Path, environ: Mapping[str, str]) -> None:
    java, ivy = find_java(environ), ivy_jar(cache)
    workspace = into.parent
    ivy_file, log_path = workspace / "ivy.xml", workspace / "ivy.log"
    ivy_file.write_text(ivy_module(artifacts))
    settings = environ.get(IVY_SETTINGS_KEY)
    argv = [
        *(str(java.launcher), f"-Divy.default.ivy.user.dir={cache / 'ivy'}", "-jar", str(ivy)),
        *(("-settings", settings) if settings else ()),
        *("-cache", str(cache / "ivy"), "-ivy", str(ivy_file), "-confs", "default"),
        *("-types", "jar", "bundle", *sorted({artifact.packaging for artifact in artifacts} - {"jar"})),
        *("-retrieve", str(into / _PATTERN)),
    ]
    wanted = ", ".join(map(str, artifacts))
    fetched = run_to_end(
        Command(argv, folder=workspace, log_path=log_path),
        deadline_s=FETCH_DEADLINE_S,
        doing=f"Ivy to fetch {wanted}",
    )
    if not fetched:
        raise _not_fetched(unresolved(log_path.read_text(errors="replace"), artifacts), cache)
    for artifact in artifacts:
        if not (into / artifact.file_name).is_file():
            raise _not_fetched(f"{artifact} (Ivy gave no file {artifact.file_name})", cache)


def _not_fetched(what: str, cache: Path) -> ArtifactError:
    return ArtifactError(
        f"Could not fetch {what}.",
        fix=(
            "Check the network (a proxy is set by JAVA_TOOL_OPTIONS=-Dhttps.proxyHost=..., a Maven mirror by "
            f"{IVY_SETTINGS_KEY}), or set {CACHE_KEY} to a folder that already holds the jars; now it is {cache}."
        ),
    )
