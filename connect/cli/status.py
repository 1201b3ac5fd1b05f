"""`connect status` shows a cluster at a glance."""

from __future__ import annotations

import shutil
import sys
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from connect.cli.shared.cluster_options import as_json, cluster_command, print_json
from connect.cli.shared.table import print_table, shortened
from connect.cli.shared.terminal import echo, echo_folded, until_interrupted
from connect.lib.printable import printable

if TYPE_CHECKING:
    from connect.client.rest import ConnectClient

_commands = click.Group()
WATCH_S = 2.0
LEAST_COLUMNS = 100
"""It is the number of columns below which a terminal has reasons under the table."""


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
    if not watch:
        _show(client, clear=False)
        return
    pause = threading.Event()
    with until_interrupted():
        while True:
            _show(client, clear=True)
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
    columns = ("NAME", "TYPE", "STATE", "TASKS")
    rows = [(line.name, line.type, line.state, line.tasks) for line in lines]
    width = shutil.get_terminal_size().columns
    if not sys.stdout.isatty() or width >= LEAST_COLUMNS:
        print_table((*columns, "REASON"), [(*row, line.reason) for row, line in zip(rows, lines, strict=True)])
        return
    print_table(columns, rows)
    for line in lines:
        if line.reason:
            echo_folded(f"{shortened(printable(line.name), width // 2)}: {line.reason}", "")
