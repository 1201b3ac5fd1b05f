"""Reads the worker's file that a command is given by `--worker`."""

from __future__ import annotations

from collections.abc import Mapping
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


def reach_of(file: Path | None, config: Mapping[str, str]) -> Mapping[str, str]:
    """Return the worker settings that a connector of a file is built with.

    Without a worker's file it reaches what the person may who types the command, and Apache Kafka's config providers
    have their usual names.
    """
    from connect.api.allowed_paths import EVERYWHERE
    from connect.runtime.settings.config_providers import usual_providers

    return {**EVERYWHERE, **usual_providers([config])} if file is None else read_worker_settings(file).originals


def resolved(config: Mapping[str, str], worker: Mapping[str, str]) -> dict[str, str]:
    """Return a connector's configuration with what it names of config providers looked up, as tasks have it."""
    from connect.plugins.catalog import Catalog
    from connect.runtime.settings.config_providers import config_providers

    return config_providers(worker, Catalog.installed()).resolve(config)
