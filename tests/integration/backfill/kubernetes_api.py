"""Runs an API server on loopback that answers Spark like Kubernetes; each executor pod runs as a process here."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psutil
from spark_cluster import SPARK

from connect.tools.services.java import find_java
from connect.tools.services.process.process import Command, SupervisedProcess

Resource = dict[str, Any]
EXECUTOR = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_OF_A_KIND = "/api/v1/namespaces/default/pods"
_NODE = {"status.podIP": "127.0.0.1"}
_THEN = "2026-01-01T00:00:00Z"


@dataclass
class Kubernetes:
    """Holds the resources that were created, by path, and the processes of pods. Every call holds the lock."""

    folder: Path
    master: str = ""
    resources: dict[str, Resource] = field(default_factory=dict)
    processes: dict[str, SupervisedProcess] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def executors(self) -> list[psutil.Process]:
        """Return the JVMs of the pods that run."""
        with self.lock:
            return [psutil.Process(process.pid) for process in self.processes.values() if process.running]

    def create(self, path: str, made: Resource) -> Resource:
        name = made["metadata"]["name"]
        with self.lock:
            made["metadata"] |= {"uid": name, "resourceVersion": "1", "creationTimestamp": _THEN}
            self.resources[f"{path}/{name}"] = made
            if made["kind"] == "Pod":
                self.processes[f"{path}/{name}"] = _started(made, self.folder / name)
            return made

    def change(self, path: str, merged: Resource) -> Resource:
        """Apply a merge patch, in which Spark changes labels only."""
        with self.lock:
            metadata = self.resources[path]["metadata"]
            metadata["labels"] = metadata.get("labels", {}) | merged["metadata"]["labels"]
            return self._now(path)

    def found(self, path: str, selector: str) -> dict[str, Resource]:
        """Return the resource of this name, or those of a kind whose labels match the selector."""
        with self.lock:
            named = [name for name in self.resources if name == path or name.startswith(f"{path}/")]
            return {name: self._now(name) for name in named if _selected(self.resources[name], selector)}

    def delete(self, path: str, selector: str) -> None:
        with self.lock:
            for name in self.found(path, selector):
                del self.resources[name]
                if name in self.processes:
                    self.processes.pop(name).stop(5.0)

    def _now(self, name: str) -> Resource:
        resource = self.resources[name]
        if name not in self.processes:
            return resource
        process = self.processes[name]
        phase, state = "Running", {"running": {"startedAt": _THEN}}
        if not process.running:
            phase = "Succeeded" if process.succeeded else "Failed"
            state = {"terminated": {"exitCode": int(not process.succeeded), "finishedAt": _THEN}}
        (container,) = resource["spec"]["containers"]
        statuses = [{"name": container["name"], "ready": phase == "Running", "state": state}]
        return resource | {"status": {"phase": phase, "podIP": "127.0.0.1", "containerStatuses": statuses}}


@contextmanager
def kubernetes(folder: Path) -> Iterator[Kubernetes]:
    """Yield the API server; in the end it and its pods are stopped."""
    folder.mkdir()
    cluster = Kubernetes(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Answers,), {"cluster": cluster}))
    server.daemon_threads = True
    cluster.master = f"k8s://http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield cluster
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        cluster.delete("/api", "")


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cluster: Kubernetes

    def do_GET(self) -> None:
        found = self.cluster.found(*self._asked)
        path, _ = self._asked
        if path in found:
            self._answer(200, found[path])
        elif path.count("/") > _OF_A_KIND.count("/"):
            self._answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound"})
        else:
            kind = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}}
            self._answer(200, kind | {"items": list(found.values())})

    def do_POST(self) -> None:
        self._answer(201, self.cluster.create(self._asked[0], self._body()))

    def do_PATCH(self) -> None:
        self._answer(200, self.cluster.change(self._asked[0], self._body()))

    def do_DELETE(self) -> None:
        self._body()
        self.cluster.delete(*self._asked)
        self._answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

    @property
    def _asked(self) -> tuple[str, str]:
        """Return the path and the label selector of the request."""
        url = urlsplit(self.path)
        return url.path, parse_qs(url.query).get("labelSelector", [""])[0]

    def _body(self) -> Resource:
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")

    def _answer(self, code: int, told: Resource) -> None:
        body = json.dumps(told).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


def _selected(resource: Resource, selector: str) -> bool:
    """Tell if a resource matches a selector such as `a=1,b!=2`; Spark uses no other forms."""
    labels = resource["metadata"].get("labels", {})
    for wanted in filter(None, selector.split(",")):
        key, _, text = wanted.partition("=")
        if (labels.get(key.removesuffix("!")) == text) == key.endswith("!"):
            return False
    return True


def _started(pod: Resource, folder: Path) -> SupervisedProcess:
    """Start a pod's command as the entry point of Spark's own image does with the pod's environment."""
    (container,) = pod["spec"]["containers"]
    assert container["args"] == ["executor"], "an image knows no other word for it"
    given = {one["name"]: _value(one) for one in container["env"]}
    folder.mkdir()
    options = sorted((name for name in given if name.startswith("SPARK_JAVA_OPT_")), key=lambda n: int(n.split("_")[3]))
    memory = given["SPARK_EXECUTOR_MEMORY"]
    argv = [
        str(find_java().launcher), *(given[name] for name in options), f"-Xms{memory}", f"-Xmx{memory}",
        "-cp", f"{SPARK}/jars/*", EXECUTOR,
        "--driver-url", given["SPARK_DRIVER_URL"], "--executor-id", given["SPARK_EXECUTOR_ID"],
        "--cores", given["SPARK_EXECUTOR_CORES"], "--app-id", given["SPARK_APPLICATION_ID"],
        "--hostname", given["SPARK_EXECUTOR_POD_IP"], "--resourceProfileId", given["SPARK_RESOURCE_PROFILE_ID"],
        "--podName", pod["metadata"]["name"],
    ]  # fmt: skip
    # This folder stands for a volume of the pod.
    environ = {**given, "SPARK_HOME": str(SPARK), "SPARK_LOCAL_DIRS": str(folder)}
    return SupervisedProcess(Command(argv, folder, folder.with_suffix(".log"), environ))


def _value(variable: Resource) -> str:
    if "valueFrom" in variable:
        return _NODE.get(variable["valueFrom"]["fieldRef"]["fieldPath"], "")
    return str(variable.get("value", ""))
