"""Finds the configurations of a job's connectors: in the cluster, or in files from which they are created, stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from connect.api.errors import ConfigError
from connect.backfill.job.spec import BackfillSpec, Source, Target
from connect.client.manifests import read_manifests
from connect.client.rest import ConnectClient
from connect.cluster.store.config_reading import read_connectors
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig

_READ_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Configurations:
    """Holds the configurations of a job's connectors.

    `connector` is the one that goes on: the sink for kind sink, else the source. `target` is the sink of kind copy.
    `are_typed` says that all of them are as in files that a person named.
    """

    connector: Mapping[str, str]
    target: Mapping[str, str] | None = None
    are_typed: bool = False


def connectors_of(
    spec: BackfillSpec, folder: Path | None, worker: WorkerConfig, cluster: Callable[[], ConnectClient] | None
) -> Configurations:
    """Return the configurations of the job's connectors.

    File names of the spec are relative to `folder`; if it is None, the spec may name no file. A connector that is
    missing is created in `cluster`, unless that is None. ConfigError: a connector has no configuration.
    """
    known = read_connectors(worker, "connect-backfill-configs", Deadline.after(_READ_S))
    written: list[bool] = []

    def found(part: str, named: Source | Target) -> Mapping[str, str]:
        in_cluster = known.get(named.connector)
        in_file = _from_file(part, named, folder / named.config) if folder and named.config else None
        config = in_cluster or in_file
        if config is None:
            raise _missing(part, named.connector, may_be_file=folder is not None)
        if in_cluster is None and cluster is not None:
            cluster().create(named.connector, config, "STOPPED")
        written.append(in_file is not None and _without_name(config) == _without_name(in_file))
        return config

    if spec.kind == "sink":
        return Configurations(found("target", spec.target), are_typed=all(written))
    source = found("source", spec.source)
    target = found("target", spec.target) if spec.kind == "copy" else None
    return Configurations(source, target, all(written))


def _without_name(config: Mapping[str, str]) -> Mapping[str, str]:
    return {key: value for key, value in config.items() if key != "name"}


def _from_file(part: str, named: Source | Target, file: Path) -> Mapping[str, str]:
    wanted = {manifest.name: manifest.config for manifest in read_manifests([file])}.get(named.connector)
    if wanted is None:
        raise ConfigError(f"The file {file} has no connector {named.connector}.", key=f"{part}.config")
    return wanted


def _missing(part: str, name: str, *, may_be_file: bool) -> ConfigError:
    by_file = f", or name its file under {part}.config" if may_be_file else ""
    return ConfigError(
        f"The cluster has no connector {name}.",
        key=f"{part}.connector",
        fix=f'Create it by POST /connectors with "initial_state": "STOPPED"{by_file}.',
    )
