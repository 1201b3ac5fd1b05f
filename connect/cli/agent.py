"""`connect agent`: run a program beside a database whose files a worker elsewhere cannot read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from connect.cli.log_options import log_options

if TYPE_CHECKING:
    from collections.abc import Mapping


@click.command()
@click.argument("name", metavar="AGENT")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--worker", "worker_file", required=True, type=click.Path(dir_okay=False, path_type=Path),
    help="A worker's settings, for Kafka, converters and the offsets topic.",
)  # fmt: skip
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key of FILE; repeatable.")
@click.option("--metrics", metavar="[HOST:]PORT", help="Serve figures there at /metrics, in Prometheus' text format.")
@log_options
def agent(  # noqa: PLR0917 - click calls it by name
    name: str,
    file: Path,
    worker_file: Path,
    overrides: tuple[str, ...],
    metrics: str | None,
    log_format: str,
    log_level: str,
) -> None:
    """Run AGENT (cassandra) until it is told to stop, with the settings of FILE: JSON as POST /connectors takes it.

    Each database node has its agent, with a name of its own.
    """
    from connect import __version__
    from connect.api.errors import ConnectError
    from connect.cli.stop_signals import StopSignals
    from connect.cluster.worker_file import read_worker_file, worker_config
    from connect.plugins import Catalog
    from connect.runtime.agent import Agent, agent_plugin, look_for_cycles_rarely
    from connect.runtime.agent_metrics import AgentMetrics, MetricsAddress
    from connect.telemetry.logs import set_up_logs

    set_up_logs("json" if log_format == "json" else "text", log_level)
    catalog = Catalog.installed()
    try:
        worker = worker_config(read_worker_file(worker_file).properties, catalog)
        plugin = agent_plugin(catalog, name)
        run = Agent(plugin, worker, catalog, read_agent_file(file, overrides))
        served = AgentMetrics(run.now, {"version": __version__, "agent": plugin.name, "group_id": worker.group_id})
        if metrics is not None:
            served.serve(MetricsAddress.parse(metrics))
    except ConnectError as error:
        raise click.ClickException(str(error)) from error
    StopSignals(run.stop).listen()
    look_for_cycles_rarely()
    try:
        ended_well = run.run()
    finally:
        served.close()
        run.close()
    sys.exit(0 if ended_well else 1)


def read_agent_file(path: Path, overrides: tuple[str, ...] = ()) -> Mapping[str, str]:
    """The settings of an agent's file, its name among them. ConfigError: it is not of the form."""
    from connect.api.config import text_of
    from connect.api.errors import ConfigError

    form = 'It holds {"name": ..., "config": {...}}, as configs/agents/cassandra.json.'
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"The agent's file {path} cannot be read: {error}.", fix=form) from error
    match given:
        case {"name": str() as name, "config": dict() as config}:
            pairs = dict(override.partition("=")[::2] for override in overrides)
            values = {key: text_of(value) for key, value in config.items()}
            return {**{key: value for key, value in values.items() if value is not None}, "name": name, **pairs}
    raise ConfigError(f"The agent's file {path} is not of the form.", fix=form)
