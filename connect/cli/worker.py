"""Defines `connect worker`, which runs a worker until it is told to stop."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from connect.cli.shared.log_options import log_options
from connect.runtime.host.import_without_gc import loading

if TYPE_CHECKING:
    from connect.cluster.hosts.fork_seed import ForkSeed
    from connect.runtime.settings.worker_config import WorkerConfig


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key of the file; repeatable.")
@log_options
def worker(file: Path, overrides: tuple[str, ...], log_format: str, log_level: str) -> None:
    """Run a worker with the settings of FILE: YAML, or a Java .properties file as Kafka Connect takes it."""
    with loading():
        from connect.api.errors import ConfigError
        from connect.cli.shared.overrides import parse_overrides
        from connect.cluster.group.remote_member import fork_member
        from connect.cluster.hosts.fork_seed import fork_seed
        from connect.cluster.worker_file import read_worker_file, worker_config
        from connect.plugins.catalog import Catalog
        from connect.telemetry.logs import set_up_logs
        from connect.worker.app import Worker  # noqa: F401 - the seed of the hosts shares what is loaded by now

        catalog = Catalog.installed()
    # The hosts of the seed know of format and level by its environment.
    set_up_logs("json" if log_format == "json" else "text", log_level)
    member_seed, seed = fork_member(), fork_seed(catalog)
    try:
        given = read_worker_file(file, parse_overrides(overrides))
        config = worker_config(given.properties, catalog)
    except ConfigError as error:
        if log_format == "json":
            sys.exit(_told(error))
        raise click.ClickException(str(error)) from error
    sys.exit(run_worker(config, given.notes, seed, member_seed, json_only=log_format == "json"))


def _told(error: Exception) -> int:
    """Log why the worker did not start. Return the exit code."""
    logging.getLogger(__name__).error("worker_not_started", extra={"error": str(error)})
    return 1


def run_worker(
    config: WorkerConfig,
    notes: Sequence[str] = (),
    seed: ForkSeed | None = None,
    member_seed: ForkSeed | None = None,
    *,
    json_only: bool = False,
) -> int:
    """Run a worker until SIGTERM or SIGINT. Return the exit code. With `json_only` it prints log lines alone.

    `seed` is the process that becomes the fork server of its hosts, `member_seed` the one that is in the group for it.
    """
    with loading():
        from connect.api.errors import ConnectError
        from connect.cli.shared.stop_signals import StopSignals
        from connect.cluster.store.first_contact import StartError
        from connect.worker.app import Worker

    if notes:
        logging.getLogger(__name__).info("worker_file_notes", extra={"notes": list(notes)})
    logger = logging.getLogger(__name__)

    def refuse(error: Exception) -> int:
        if json_only:
            return _told(error)
        sys.stderr.write(f"Error: {error}\n")
        return 1

    try:
        worker = Worker(config, seed, member_seed)
    except ConnectError as error:
        return refuse(error)
    asked = threading.Event()

    def stop() -> None:
        worker.ask_to_stop()
        asked.set()

    StopSignals(stop).listen()
    try:
        url = worker.start()
        if not asked.is_set():
            if json_only:
                logger.info("worker_ready", extra={"url": url})
            else:
                sys.stdout.write(f"Connect worker ready: {url}\n")
                sys.stdout.flush()
        asked.wait()
    except StartError as error:
        return refuse(error)
    finally:
        worker.stop()
    return 0
