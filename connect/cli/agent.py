"""Defines `connect agent`, which runs a program beside a database whose files a worker elsewhere cannot read."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from socket import gethostname

import click

from connect.cli.shared.command_errors import one_line_errors
from connect.cli.shared.log_options import log_options


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

    Each database node has its agent, with a name of its own: AGENT-HOSTNAME where FILE has none, so that one FILE
    serves all nodes.
    """
    from connect import __version__
    from connect.cli.shared.overrides import parse_overrides
    from connect.cli.shared.stop_signals import StopSignals
    from connect.cli.shared.worker_settings import read_worker_settings
    from connect.plugins.catalog import Catalog
    from connect.runtime.host.agent import Agent, agent_plugin, look_for_cycles_rarely
    from connect.runtime.host.agent_metrics import AgentMetrics, MetricsAddress
    from connect.telemetry.logs import set_up_logs

    set_up_logs("json" if log_format == "json" else "text", log_level)
    catalog = Catalog.installed()
    with one_line_errors():
        worker = read_worker_settings(worker_file)
        plugin = agent_plugin(catalog, name)
        run = Agent(plugin, worker, catalog, read_agent_file(file, name, parse_overrides(overrides)))
        served = AgentMetrics(run.now, {"version": __version__, "agent": plugin.name, "group_id": worker.group_id})
        if metrics is not None:
            served.serve(MetricsAddress.parse(metrics))
    StopSignals(run.stop).listen()
    look_for_cycles_rarely()
    try:
        ended_well = run.run()
    finally:
        served.close()
        run.close()
    sys.exit(0 if ended_well else 1)


def read_agent_file(path: Path, agent: str, overrides: Mapping[str, str] | None = None) -> Mapping[str, str]:
    """Return the settings of an agent's file, its name among them, with overrides on top.

    A file without a name is the same on all nodes: each agent is named `agent`-hostname then. ConfigError: the file
    cannot be read, or lacks the settings.
    """
    from connect.api.errors import ConfigError
    from connect.lib.setting_text import text_of

    form = 'It holds {"name": ..., "config": {...}}, as configs/agents/cassandra.json.'
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"The agent's file {path} cannot be read: {error}.", fix=form) from error
    match given:
        case {"config": dict() as config} if isinstance(name := given.get("name", f"{agent}-{gethostname()}"), str):
            texts = {key: text for key, value in config.items() if (text := text_of(value)) is not None}
            return {**texts, "name": name, **(overrides or {})}
    raise ConfigError(f"The agent's file {path} lacks a config, or its name is no text.", fix=form)
