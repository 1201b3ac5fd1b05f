"""`connect status` shows a cluster at a glance."""

from __future__ import annotations

import threading
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from connect.cli.shared.cluster_options import as_json, cluster_command, print_json
from connect.cli.shared.table import print_table
from connect.cli.shared.terminal import echo

if TYPE_CHECKING:
    from connect.client.rest import ConnectClient

_commands = click.Group()
WATCH_S = 2.0


@cluster_command(
    _commands, as_json, click.option("--watch", is_flag=True, help="Look again every two seconds, until Ctrl-C.")
)
def status(client: ConnectClient, as_json: bool, watch: bool) -> None:
    """What runs, what needs a person first, and why."""
    if as_json and watch:
        raise click.UsageError("--json is one answer; leave --watch out.")
    if as_json:
        _print(client)
        return
    pause = threading.Event()
    while True:
        _show(client, clear=watch)
        if not watch:
            return
        pause.wait(WATCH_S)


def _print(client: ConnectClient) -> None:
    from connect.client.overview import overview

    print_json([asdict(line) for line in overview(client.connectors())])


def _show(client: ConnectClient, *, clear: bool) -> None:
    from connect.client.overview import overview

    server, lines = client.server(), overview(client.connectors())
    if clear:
        click.clear()
    echo(f"{client.url}  version {server['version']}  Kafka cluster {server['kafka_cluster_id']}")
    if not lines:
        echo("No connectors. Create one: connect connectors apply -f my-connector.json")
        return
    print_table(
        ("NAME", "TYPE", "STATE", "TASKS", "REASON"),
        [(line.name, line.type, line.state, line.tasks, line.reason) for line in lines],
    )
