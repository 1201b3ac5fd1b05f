"""The configurations of a job's connectors: the cluster has them, or they are created stopped from files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from connect.api.deadline import Deadline
from connect.api.errors import ConfigError
from connect.backfill.spec import BackfillSpec, Source, Target
from connect.client.manifests import read_manifests
from connect.client.rest import ConnectClient
from connect.cluster.config_reading import read_connectors
from connect.runtime.worker_config import WorkerConfig

_READ_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Configurations:
    """connector: of the one that goes on, the sink of kind sink, else the source. target: of the sink of kind copy."""

    connector: Mapping[str, str]
    target: Mapping[str, str] | None = None


def connectors_of(
    spec: BackfillSpec, folder: Path, worker: WorkerConfig, cluster: Callable[[], ConnectClient] | None
) -> Configurations:
    """The configurations. `folder`: which the spec's file names are relative to. `cluster`: where to create a connector
    that is not there; None: it is not created. ConfigError: there is none.
    """
    known = read_connectors(worker, "connect-backfill-configs", Deadline.after(_READ_S))

    def found(part: str, named: Source | Target) -> Mapping[str, str]:
        return known.get(named.connector) or _from_file(part, named, folder, cluster)

    if spec.kind == "sink":
        return Configurations(found("target", spec.target))
    return Configurations(found("source", spec.source), found("target", spec.target) if spec.kind == "copy" else None)


def _from_file(
    part: str, named: Source | Target, folder: Path, cluster: Callable[[], ConnectClient] | None
) -> Mapping[str, str]:
    name = named.connector
    if named.config is None:
        raise ConfigError(
            f"The cluster has no connector {name}.",
            key=f"{part}.connector",
            fix=f'Create it by POST /connectors with "initial_state": "STOPPED", or name its file under {part}.config.',
        )
    file = folder / named.config
    wanted = {manifest.name: manifest.config for manifest in read_manifests([file])}.get(name)
    if wanted is None:
        raise ConfigError(f"The file {file} has no connector {name}.", key=f"{part}.config")
    if cluster is not None:
        cluster().create(name, wanted, "STOPPED")
    return wanted
