"""Runs a real YARN cluster on loopback, from Maven Central: Hadoop's ResourceManager and one NodeManager."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import requests
from cluster_job import command_of

from connect.tools.services.ivy import Artifact, fetch
from connect.tools.services.java import find_java
from connect.tools.services.process.polling import poll_until
from connect.tools.services.process.ports import free_ports
from connect.tools.services.process.process import Command, SupervisedProcess

HADOOP_VERSION = "3.5.0"
"""This is the version of PySpark's own Hadoop client."""
JARS = (
    Artifact("org.apache.hadoop", "hadoop-client-minicluster", HADOOP_VERSION),
    # The daemons need these, and the artifact above does not name them.
    Artifact("org.bouncycastle", "bcpkix-jdk18on", "1.82"),
    Artifact("org.slf4j", "slf4j-reload4j", "1.7.36"),
)
EXECUTOR = "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend"
_START_S = 120.0
_ADDRESSES = (
    "resourcemanager.address", "resourcemanager.scheduler.address", "resourcemanager.resource-tracker.address",
    "resourcemanager.admin.address", "resourcemanager.webapp.address", "nodemanager.address",
    "nodemanager.localizer.address", "nodemanager.webapp.address",
)  # fmt: skip
_SETTINGS = {
    "yarn.nodemanager.resource.memory-mb": "5120",
    "yarn.nodemanager.resource.cpu-vcores": "4",
    "yarn.scheduler.minimum-allocation-mb": "256",
    "yarn.nodemanager.vmem-check-enabled": "false",
    # A node gives containers no folder on a disk that is nine tenths full. When it starts it checks that even if
    # disk-health-checker.enable is false.
    "yarn.nodemanager.disk-health-checker.disk-utilization-threshold.enabled": "false",
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
}
_LOG = """log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %c: %m%n
"""


@dataclass(frozen=True)
class Yarn:
    """Holds where a client finds the cluster, and what runs in it."""

    conf: Path
    """HADOOP_CONF_DIR has to name this folder."""
    containers: Path
    """The working folder of each container is below this folder."""
    url: str
    node: int
    """This is the process id of the NodeManager."""

    def executors(self) -> list[psutil.Process]:
        """Return the JVMs of Spark's executors; each is the child of a container's shell."""
        below = psutil.Process(self.node).children(recursive=True)
        return [one for one in below if EXECUTOR in command_of(one)]

    def succeeded(self) -> int:
        """Return how many applications have succeeded."""
        found = _asked(f"{self.url}/ws/v1/cluster/apps?finalStatus=SUCCEEDED")["apps"]
        return len(found["app"]) if found else 0

    def nodes(self) -> int:
        return int(_asked(f"{self.url}/ws/v1/cluster/metrics")["clusterMetrics"]["activeNodes"])


@contextmanager
def yarn_cluster(folder: Path) -> Iterator[Yarn]:
    """Yield the cluster once its node has joined it. In the end both processes and the node's containers are
    stopped.
    """
    addresses = {f"yarn.{name}": f"127.0.0.1:{port}" for name, port in zip(_ADDRESSES, free_ports(8), strict=True)}
    folders = {"yarn.nodemanager.local-dirs": str(folder / "local"), "yarn.nodemanager.log-dirs": str(folder / "logs")}
    conf = folder / "conf"
    for made in (conf, *map(Path, folders.values())):
        made.mkdir(parents=True)
    _write(conf / "yarn-site.xml", {**_SETTINGS, **addresses, **folders})
    (conf / "log4j.properties").write_text(_LOG)
    with ExitStack() as stack:
        _start(stack, "resourcemanager.ResourceManager", folder)
        node = _start(stack, "nodemanager.NodeManager", folder)
        stack.callback(_end_containers, node.pid)
        url = f"http://{addresses['yarn.resourcemanager.webapp.address']}"
        yarn = Yarn(conf, folder / "local", url, node.pid)
        poll_until(lambda: _has_node(yarn), deadline_s=_START_S, waiting_for="YARN's node", fix=f"See {folder}")
        yield yarn


def _write(path: Path, settings: dict[str, str]) -> None:
    site = ET.Element("configuration")
    for name, value in settings.items():
        one = ET.SubElement(site, "property")
        ET.SubElement(one, "name").text = name
        ET.SubElement(one, "value").text = value
    path.write_text(ET.tostring(site, encoding="unicode"))


def _start(stack: ExitStack, daemon: str, folder: Path) -> SupervisedProcess:
    jars = fetch(f"yarn-{HADOOP_VERSION}", JARS)
    name = daemon.rpartition(".")[2]
    argv = [
        str(find_java().launcher), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp",
        f"{folder / 'conf'}:{jars}/*", f"org.apache.hadoop.yarn.server.{daemon}",
    ]  # fmt: skip
    process = SupervisedProcess(Command(argv, folder, folder / f"{name}.log"))
    stack.callback(process.stop, 5.0)
    return process


def _end_containers(node: int) -> None:
    """End the containers of a node, as a NodeManager that ends leaves them to the next one."""
    for one in psutil.Process(node).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            one.kill()


def _has_node(yarn: Yarn) -> bool:
    try:
        return yarn.nodes() == 1
    except requests.RequestException:  # it is still starting
        return False


def _asked(url: str) -> Any:
    answer = requests.get(url, timeout=30)
    answer.raise_for_status()
    return answer.json()
