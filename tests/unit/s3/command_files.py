"""Writes what the command line is given: a sink's configuration, and the file of the worker that would run it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path


def sink_file(folder: Path, given: Mapping[str, str]) -> str:
    """The path of a file with a sink of topic orders."""
    config = {**given, "connector.class": "io.confluent.connect.s3.S3SinkConnector", "topics": "orders"}
    (folder / "sink.json").write_text(json.dumps({"name": "lake-sink", "config": config}))
    return str(folder / "sink.json")


def worker_file(folder: Path) -> str:
    """The path of a file with a worker that lets connectors write below the folder; its Kafka does not answer."""
    topics = "".join(f"{kind}.storage.topic=none-{kind}\n" for kind in ("config", "offset", "status"))
    converters = "".join(f"{kind}.converter=org.apache.kafka.connect.json.JsonConverter\n" for kind in ("key", "value"))
    own = f"bootstrap.servers=127.0.0.1:9\ngroup.id=none\ns3.local.folders={folder}\n"
    (folder / "worker.properties").write_text(own + topics + converters)
    return str(folder / "worker.properties")
