"""`connect status` shows a cluster at a glance."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import click

from connect.cli.shared.cluster_options import cluster_command, print_table
from connect.cli.shared.terminal import echo

if TYPE_CHECKING:
    from connect.client.rest import ConnectClient

_commands = click.Group()
WATCH_S = 2.0


@cluster_command(_commands, click.option("--watch", is_flag=True, help="Look again every two seconds, until Ctrl-C."))
def status(client: ConnectClient, watch: bool) -> None:
    """What runs, what needs a person first, and why."""
    pause = threading.Event()
    while True:
        _show(client, clear=watch)
        if not watch:
            return
        pause.wait(WATCH_S)


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
