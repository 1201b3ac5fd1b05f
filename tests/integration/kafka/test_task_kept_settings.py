"""Counts what a task that runs keeps of its settings: a host has hundreds of tasks."""

from __future__ import annotations

import gc
import threading
import uuid
from collections import Counter
from pathlib import Path

from connect.api.config import Config
from connect.kafka.admin.topics import TopicAdmin
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.runtime.host.task_run import TaskRun
from connect.runtime.parts.clients import Clients
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.messages import StartTask, TaskState
from connect.runtime.task.state import State
from connect.tools.services import KafkaEndpoint

JSON = "org.apache.kafka.connect.json.JsonConverter"


def settings_kept() -> Counter[str]:
    """Return how many readings of settings there are, by their class."""
    gc.collect()
    return Counter(type(found).__name__ for found in gc.get_objects() if isinstance(found, Config))


def test_a_running_source_keeps_its_settings_once_and_not_its_connector(kafka: KafkaEndpoint, tmp_path: Path) -> None:
    name = f"kept-{uuid.uuid4().hex[:8]}"
    worker = WorkerConfig.parse({
        "bootstrap.servers": kafka.bootstrap_servers, "group.id": name, "config.storage.topic": f"{name}-c",
        "offset.storage.topic": f"{name}-o", "status.storage.topic": f"{name}-s", "key.converter": JSON,
        "value.converter": JSON, "allowed.paths": str(tmp_path), "offset.storage.replication.factor": "1",
    })  # fmt: skip
    TopicAdmin({"bootstrap.servers": kafka.bootstrap_servers}).create(
        f"{name}-o",
        partitions=1,
        replication_factor=1,
        configs={"cleanup.policy": "compact"},
        deadline=Deadline.after(60),
    )
    file = tmp_path / "lines.txt"
    file.write_text("a line\n")
    config = {"name": name, "connector.class": "FileStreamSource", "file": str(file), "topic": name}
    clients = Clients(worker, Catalog.installed())
    said: dict[State | None, threading.Event] = {State.RUNNING: threading.Event(), None: threading.Event()}

    def report(message: object) -> None:
        if isinstance(message, TaskState):
            assert message.state in said, message
            said[message.state].set()

    before = settings_kept()
    run = TaskRun(StartTask(name, 0, 1, "source", config, config), clients, report)
    run.start()
    try:
        assert said[State.RUNNING].wait(60)
        kept = settings_kept() - before
    finally:
        run.stop()
    assert said[None].wait(60)
    clients.close()
    assert kept == {"SourceConnectorConfig": 1}
