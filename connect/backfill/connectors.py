"""The configuration of the connector that a job reads by: the cluster has it, or it is created stopped from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from connect.api.deadline import Deadline
from connect.api.errors import ConfigError
from connect.backfill.spec import BackfillSpec
from connect.client.manifests import read_manifests
from connect.client.rest import ConnectClient
from connect.cluster.config_reading import read_connectors
from connect.runtime.worker_config import WorkerConfig

_READ_S: Final = 60.0


def connector_of(
    spec: BackfillSpec, folder: Path, worker: WorkerConfig, cluster: Callable[[], ConnectClient] | None
) -> Mapping[str, str]:
    """The configuration. `folder`: which the spec's file names are relative to. `cluster`: where to create a connector
    that is not there; None: it is not created. ConfigError: there is none.
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
    file = folder / spec.source.config
    wanted = {manifest.name: manifest.config for manifest in read_manifests([file])}.get(name)
    if wanted is None:
        raise ConfigError(f"The file {file} has no connector {name}.", key="source.config")
    if cluster is not None:
        cluster().create(name, wanted, "STOPPED")
    return wanted
