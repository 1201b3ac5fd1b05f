"""Runs two workers of one cluster for tests of REST, and makes calls to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests
from e2e_worker import WorkerProcess

from connect.tools.services import KafkaEndpoint


@contextmanager
def two_workers(kafka: KafkaEndpoint, folder: Path, **settings: str) -> Iterator[list[WorkerProcess]]:
    """Yield two workers; the second one has joined while the first one leads."""
    name = f"rest-{folder.name}"
    pair = [WorkerProcess(folder / f"worker-{n}", kafka.bootstrap_servers, name, **settings) for n in (1, 2)]
    try:
        for worker in pair:
            worker.start()
        yield pair
    finally:
        for worker in pair:
            worker.stop()


def ask(worker: WorkerProcess, method: str, path: str, body: object = None, **more: Any) -> requests.Response:
    """Send a request with a JSON body, and return the answer."""
    return requests.request(method, worker.url + path, json=body, timeout=60, **more)


def runs(worker: WorkerProcess, name: str) -> bool:
    """Return True if all tasks of the connector run, as this worker sees it."""
    answer = ask(worker, "GET", f"/connectors/{quote(name, safe='')}/status")
    tasks = answer.json().get("tasks", ()) if answer.ok else ()
    return bool(tasks) and all(task["state"] == "RUNNING" for task in tasks)
