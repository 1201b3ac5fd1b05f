"""Measures Apache Kafka Connect in Java on the same rows: a real worker over REST, with the plug-ins in `src`."""

from __future__ import annotations

import contextlib
import json
import os
import struct
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import psutil
import requests
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from connect.lib.deadline import Deadline
from connect.tools.services.java import find_java
from connect.tools.services.java_connect import InternalTopics, JavaConnectService, worker_jars
from connect.tools.services.process.errors import ServiceError
from tests.bench.cluster.cluster_workers import KAFKAS_HEAP_MIB, KAFKAS_JVM
from tests.bench.measure import Figure

SOURCES = Path(__file__).parent / "src"
SERVICES = {
    "org.apache.kafka.connect.source.SourceConnector": "bench.MemorySource",
    "org.apache.kafka.connect.sink.SinkConnector": "bench.NullSink",
}
LIMIT_S = 180.0
STEP_S = 0.02
STATUS_S = 2.0


def build_plugins(folder: Path) -> Path:
    """The plug-in path: the sources compiled against connect-api, in a jar. ServiceError: there is no JDK."""
    javac = find_java().launcher.resolve().parent / "javac"
    if not os.access(javac, os.X_OK):
        raise ServiceError("There is no javac beside the java that runs.", fix="Install a JDK and set JAVA_HOME to it.")
    classes, plugins = folder / "classes", folder / "plugins"
    for made in (classes, plugins):
        made.mkdir()
    files = sorted(map(str, SOURCES.rglob("*.java")))
    argv = [str(javac), "-nowarn", "-cp", f"{worker_jars()}/*", "-d", str(classes), *files]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode:
        raise RuntimeError(f"javac failed:\n{done.stderr}")
    with zipfile.ZipFile(plugins / "bench.jar", "w") as jar:
        for file in classes.rglob("*.class"):
            jar.write(file, str(file.relative_to(classes)))
        for service, name in SERVICES.items():
            jar.writestr(f"META-INF/services/{service}", name)
    return plugins


class JavaPeer:
    """A running worker. Each job moves a part of the rows first; then the JIT is warm, and the run that counts follows.

    `plugins` are folders of its plug-in path, `scratch` is where its connectors leave what this process reads.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        plugins: Sequence[Path],
        scratch: Path,
        *,
        heap_mib: int = KAFKAS_HEAP_MIB,
        offset_flush_ms: int = 1000,
    ) -> None:
        group = f"bench-java-{time.time_ns()}"
        topics = InternalTopics(f"{group}-configs", f"{group}-offsets", f"{group}-status")
        self._service = JavaConnectService(
            bootstrap_servers, group_id=group, topics=topics, jvm_options=KAFKAS_JVM, heap_mib=heap_mib,
            properties={
                "plugin.path": ",".join(map(str, plugins)), "value.converter.schemas.enable": "false",
                "offset.flush.interval.ms": str(offset_flush_ms),
                # The converters and sinks that are not Kafka's own are of the time before KIP-898.
                "plugin.discovery": "hybrid_warn",
            },
        )  # fmt: skip
        self._folder = scratch
        self._ask_again_s = 0.0
        self._admin = AdminClient({"bootstrap.servers": bootstrap_servers})

    def __enter__(self) -> Self:
        self._service.start(120.0)
        return self

    def __exit__(self, *_: object) -> None:
        self._service.close()

    def source(self, config: Mapping[str, str], rows: int, new_topic: Callable[[], str]) -> Figure:
        """The in-memory source; rows count when they are in the topic."""
        figure = None
        for least in (max(1, rows // 2), rows):
            topic = new_topic()
            given = {"connector.class": "bench.MemorySource", "topic": topic, "rows": str(least), **config}
            figure = self._run(topic, given, least, lambda topic=topic: self._end_of(topic))
        assert figure is not None
        return figure

    def any_source(self, name: str, config: Mapping[str, str], topic: str, rows: int) -> Figure:
        """A source that is not ours, once; rows count when they are in the topic, which must be there."""
        return self._run(name, config, rows, lambda: self._end_of(topic))

    def connectors(self) -> list[str]:
        """The classes that the worker found in its plug-in path."""
        return [str(plugin["class"]) for plugin in json.loads(self._get("/connector-plugins"))]

    def null_sink(self, config: Mapping[str, str], topic: str, rows: int) -> Figure:
        """The sink that writes nothing; rows count when they were put."""
        figure = None
        for least in (max(1, rows // 2), rows):
            name = f"null-{least}-{topic}"
            progress = self._folder / name
            given = {"connector.class": "bench.NullSink", "topics": topic, "progress": str(progress), **config}
            figure = self._run(name, given, least, lambda progress=progress: _count(progress))
        assert figure is not None
        return figure

    def committing_sink(
        self, name: str, configs: Sequence[Mapping[str, str]], topic: str, rows: int, warm_up_rows: int
    ) -> Figure:
        """A sink that writes before it commits: one run of `warm_up_rows`, one of `rows`, each by its own config.

        Rows count when their offsets are committed, so the first commit begins the time that is measured.
        """
        figure = None
        for config, least in zip(configs, (warm_up_rows, rows), strict=True):
            run = f"{name}-{least}-{topic}"
            figure = self._run(run, {"topics": topic, **config}, least, lambda run=run: self._committed(run, topic))
        assert figure is not None
        return figure

    def _run(self, name: str, config: Mapping[str, str], rows: int, moved: Callable[[], int]) -> Figure:
        with self._connector(name, config):
            started_s, cpu_s, before = time.perf_counter(), self._cpu_s(), 0
            limit = Deadline.after(LIMIT_S)
            while (now := moved()) < rows:
                if not before and now:
                    # What the start of a connector takes is no part of its rate.
                    started_s, cpu_s, before = time.perf_counter(), self._cpu_s(), now
                if not limit.wait(STEP_S) or self._failed(name):
                    raise RuntimeError(f"{name}: {now} of {rows} rows; {self._get(f'/connectors/{name}/status')}")
            wall_s = time.perf_counter() - started_s
            return Figure(now - before, wall_s, self._cpu_s() - cpu_s, self._process().memory_info().rss / 2**20)

    @contextlib.contextmanager
    def _connector(self, name: str, config: Mapping[str, str]) -> Iterator[None]:
        url = f"{self._service.endpoint.url}/connectors"
        answer = requests.post(url, json={"name": name, "config": {"tasks.max": "1", **config}}, timeout=60)
        if not answer.ok:
            raise RuntimeError(f"The Java worker refused {name}: {answer.text}")
        yield
        requests.delete(f"{url}/{name}", timeout=60).raise_for_status()

    def _get(self, path: str) -> str:
        return requests.get(self._service.endpoint.url + path, timeout=60).text

    def _failed(self, name: str) -> bool:
        """Whether its task failed, as it was at most STATUS_S ago."""
        if time.monotonic() < self._ask_again_s:
            return False
        self._ask_again_s = time.monotonic() + STATUS_S
        return '"FAILED"' in self._get(f"/connectors/{name}/status")

    def _process(self) -> psutil.Process:
        return psutil.Process(self._service.pid)

    def _cpu_s(self) -> float:
        return sum(self._process().cpu_times()[:2])

    def _end_of(self, topic: str) -> int:
        partition = TopicPartition(topic, 0)
        return self._admin.list_offsets({partition: OffsetSpec.latest()})[partition].result(30).offset

    def _committed(self, connector: str, topic: str) -> int:
        asked = ConsumerGroupTopicPartitions(f"connect-{connector}", [TopicPartition(topic, 0)])
        (answer,) = self._admin.list_consumer_group_offsets([asked]).values()
        return max(0, answer.result(30).topic_partitions[0].offset)


def _count(file: Path) -> int:
    return struct.unpack(">q", file.read_bytes())[0] if file.exists() and file.stat().st_size else 0
