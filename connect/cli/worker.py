"""`connect worker`: run a worker until it is told to stop."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key of the file; repeatable.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--log-level", type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"]), default="INFO")
def worker(file: Path, overrides: tuple[str, ...], log_format: str, log_level: str) -> None:
    """Run a worker with the settings of FILE: YAML, or a Java .properties file as Kafka Connect takes it."""
    from connect.api.errors import ConfigError
    from connect.app import run_worker
    from connect.cluster.worker_file import read_worker_file
    from connect.plugins import Catalog
    from connect.runtime.config_providers import config_providers
    from connect.runtime.worker_config import WorkerConfig
    from connect.telemetry.logs import set_up_logs

    set_up_logs("json" if log_format == "json" else "text", log_level)
    try:
        given = read_worker_file(file, overrides)
        providers = config_providers(given.properties, Catalog.installed())
        config = WorkerConfig.parse(providers.resolve(given.properties))
    except ConfigError as error:
        raise click.ClickException(str(error)) from error
    sys.exit(run_worker(config, given.notes))
