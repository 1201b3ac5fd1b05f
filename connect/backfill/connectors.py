"""The configuration of the connector that a job reads by: the cluster has it, or it is created stopped from a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from connect.api.deadline import Deadline
from connect.api.errors import ConfigError
from connect.backfill.rest_client import RestClient
from connect.backfill.spec import BackfillSpec
from connect.cluster.config_reading import read_connectors
from connect.runtime.worker_config import WorkerConfig

_READ_S: Final = 60.0


def connector_of(spec: BackfillSpec, folder: Path, worker: WorkerConfig, rest: str | None) -> Mapping[str, str]:
    """The configuration. `folder`: which the spec's file names are relative to. `rest`: where to create a connector
    that the cluster does not have; None: it is not created. ConfigError: there is none.
    """
    name = spec.source.connector
    found = read_connectors(worker, "connect-backfill-configs", Deadline.after(_READ_S)).get(name)
    if found is not None:
        return found
    if spec.source.config is None:
        raise ConfigError(
            f"The cluster has no connector {name}.",
            key="source.connector",
            fix='Create it by POST /connectors with "initial_state": "STOPPED", or name its file under source.config.',
        )
    wanted = _read(folder / spec.source.config, name)
    if rest is not None:
        RestClient(rest).create({"name": name, "config": wanted, "initial_state": "STOPPED"})
    return wanted


def _read(path: Path, name: str) -> dict[str, str]:
    try:
        given: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"The connector file {path} cannot be read: {error}.", key="source.config") from error
    config = given.get("config", given) if isinstance(given, dict) else None
    if not isinstance(config, dict) or "connector.class" not in config:
        raise ConfigError(f"The connector file {path} holds no connector's configuration.", key="source.config")
    return {**{key: str(value) for key, value in config.items()}, "name": name}
