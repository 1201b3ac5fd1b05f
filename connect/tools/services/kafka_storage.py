"""Formats a broker's data folder once with Kafka's own tool and then copies it, as each run of the tool starts a
JVM.
"""

import base64
import os
import shlex
import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from connect.tools.services.process.cache import cache_folder, ensure_folder
from connect.tools.services.process.errors import ServiceStartError
from connect.tools.services.process.process import Command, log_tail, run_to_end

_META: Final = "meta.properties"
_CHECKPOINT: Final = "bootstrap.checkpoint"
"""Is the file that holds the feature levels of a new cluster.

Source: org.apache.kafka.metadata.bootstrap.BootstrapDirectory (Kafka 4.1).
"""


def new_id() -> str:
    """Return a random id in Kafka's form: 16 bytes as 22 URL-safe base64 characters, of which the first is no dash."""
    while True:
        made = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not made.startswith("-"):  # The format command would take it for an option.
            return made


def formatted_model(version: str, java: Sequence[str], deadline_s: float) -> Path:
    """Return the folder of the cache with the files from which a new node of this Kafka `version` starts.

    `java` is the command line up to the main class. ServiceStartError: they could not be made.
    """
    return ensure_folder(
        cache_folder(os.environ) / f"kafka-{version}-formatted",
        complete=lambda folder: (folder / _CHECKPOINT).is_file(),
        fill=lambda folder: _format(folder, java, deadline_s),
    )


def format_data(data: Path, model: Path, *, node_id: str, cluster_id: str) -> None:
    """Make the data folder of a new node."""
    data.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(model / _CHECKPOINT, data / _CHECKPOINT)
    members = {"version": "1", "cluster.id": cluster_id, "directory.id": new_id(), "node.id": node_id}
    # This file comes last, as it says that all others are there.
    (data / _META).write_text(as_properties(members))


def is_formatted(data: Path) -> bool:
    """Tell if a node can start on the folder."""
    return (data / _META).exists()


def as_properties(properties: Mapping[str, str]) -> str:
    """Return the text of a Java properties file."""
    return "".join(f"{key}={value.replace(chr(92), chr(92) * 2)}\n" for key, value in properties.items())


def _format(folder: Path, java: Sequence[str], deadline_s: float) -> None:
    properties, log = folder / "server.properties", folder / "format.log"
    node = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": "1@127.0.0.1:9093",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
        "log.dirs": str(folder / "data"),
    }
    properties.write_text(as_properties(node))
    argv = [*java, "kafka.tools.StorageTool", "format", "-t", new_id(), "-c", str(properties)]
    if not run_to_end(Command(argv, folder, log), deadline_s=deadline_s, doing="Kafka to format a data folder"):
        raise ServiceStartError(
            f"Kafka could not format a data folder:\n{log_tail(log)}\n", fix=f"Run it by hand: {shlex.join(argv)}"
        )
    (folder / "data" / _CHECKPOINT).rename(folder / _CHECKPOINT)
