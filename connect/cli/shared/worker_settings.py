"""The worker's file that a command is given by `--worker`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from connect.runtime.settings.worker_config import WorkerConfig


def read_worker_settings(file: Path) -> WorkerConfig:
    """Return the settings in a worker's file, with what they refer to looked up. ConfigError lists every broken key."""
    from connect.cluster.worker_file import read_worker_file, worker_config
    from connect.plugins.catalog import Catalog

    return worker_config(read_worker_file(file).properties, Catalog.installed())


def with_every_file(worker: WorkerConfig) -> WorkerConfig:
    """Return the settings for connectors of files that a person names by a command: they reach what that person may."""
    from connect.api.allowed_paths import EVERYWHERE

    return worker.changed(EVERYWHERE)
