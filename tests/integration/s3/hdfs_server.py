"""Runs HDFS as Hadoop's own MiniDFSCluster: a name node and a data node in one process, from Maven Central."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import quote

import requests

from connect.tools.services.ivy import Artifact, fetch
from connect.tools.services.java import find_java
from connect.tools.services.process.ports import LOOPBACK, accepts_connections
from connect.tools.services.process.supervised import SupervisedService

HADOOP_VERSION: Final = "3.4.2"
SUPERUSER: Final = "superuser"
LISTED_AT_ONCE: Final = 3
"""A listing gives this many entries for each request, so that it takes several requests even in a test."""
START_S: Final = 180.0
"""On an idle machine it takes 10 s, most of them to search its jar for the classes that answer over HTTP."""
_JARS: Final = (
    Artifact("org.apache.hadoop", "hadoop-client-minicluster", HADOOP_VERSION),
    # Java 17 no longer has it, and the part that answers over HTTP needs it.
    Artifact("javax.xml.bind", "jaxb-api", "2.3.1"),
    Artifact("org.slf4j", "slf4j-simple", "1.7.36", transitive=False),
)


@dataclass(frozen=True)
class HdfsEndpoint:
    """Holds the name node's web interface, and does with it what any other client does."""

    url: str

    def ask(self, method: str, operation: str, path: str, *, user: str = SUPERUSER, **parameters: str) -> Any:
        """Return the answer to an operation of WebHDFS."""
        asked = {"op": operation, "user.name": user, **parameters}
        answer = requests.request(method, f"{self.url}/webhdfs/v1{quote(path)}", params=asked, timeout=60)
        answer.raise_for_status()
        return answer.json() if operation != "OPEN" and answer.content else answer.content

    def make_folder(self, path: str, owner: str) -> None:
        """Make a folder into which only its owner may write."""
        self.ask("PUT", "MKDIRS", path)
        self.ask("PUT", "SETOWNER", path, owner=owner)

    def files(self, folder: str) -> Iterator[str]:
        """Yield the paths of all files below a folder, also of hidden ones."""
        for found in self.ask("GET", "LISTSTATUS", folder)["FileStatuses"]["FileStatus"]:
            path = f"{folder}/{found['pathSuffix']}"
            if found["type"] == "DIRECTORY":
                yield from self.files(path)
            else:
                yield path


class HdfsService(SupervisedService[HdfsEndpoint]):
    """Keeps one cluster, which takes every client for the user that the client names."""

    name: ClassVar[str] = "hdfs"
    port_names: ClassVar[tuple[str, ...]] = ("rpc", "web")

    def prepare(self) -> None:
        find_java()
        _jars()

    def start(self, deadline_s: float = START_S) -> HdfsEndpoint:
        return super().start(deadline_s)

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        del deadline_s
        dfs = folder / "dfs"
        return [
            str(find_java().launcher), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{_jars()}/*",
            "org.apache.hadoop.test.MiniDFSClusterManager", "-datanodes", "1", *(() if dfs.exists() else ("-format",)),
            "-nnport", str(ports["rpc"]), "-httpport", str(ports["web"]),
            "-D", f"hdfs.minidfs.basedir={dfs}", "-D", f"dfs.ls.limit={LISTED_AT_ONCE}",
        ]  # fmt: skip

    def _environ(self) -> Mapping[str, str]:
        return {"HADOOP_USER_NAME": SUPERUSER}

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> HdfsEndpoint:
        del folder
        return HdfsEndpoint(f"http://{LOOPBACK}:{ports['web']}")

    def _answers(self, endpoint: HdfsEndpoint, timeout_s: float) -> bool:
        """Return True if it changes names: then it has left safe mode, and knows a data node to write to."""
        if not accepts_connections(self._ports["web"]):
            return False
        probe = f"{endpoint.url}/webhdfs/v1/probe?user.name={SUPERUSER}&op="
        try:
            deleted = requests.delete(f"{probe}DELETE", timeout=timeout_s)
            sent_on = requests.put(f"{probe}CREATE", timeout=timeout_s, allow_redirects=False)
        except requests.RequestException:  # it is still starting
            return False
        return deleted.ok and sent_on.status_code == 307


def _jars() -> Path:
    return fetch(f"hdfs-{HADOOP_VERSION}", _JARS)
