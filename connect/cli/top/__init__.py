"""`connect top`: what each task of a cluster does now."""

from __future__ import annotations

import threading
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from connect.cli.shared.cluster_options import as_json, cluster_command, print_json, print_table

if TYPE_CHECKING:
    from connect.client.rest import ConnectClient

_commands = click.Group()


@cluster_command(
    _commands, as_json, click.option("--once", is_flag=True, help="One table, and end."),
    click.option("--interval", "interval_s", default=2.0, show_default=True, type=click.FloatRange(0.2),
                 help="Seconds between two looks, over which rates are counted."),
)  # fmt: skip
def top(client: ConnectClient, as_json: bool, once: bool, interval_s: float) -> None:
    """Every task: state, rows a second, lag, CPU, memory, and why it does not move; until Ctrl-C.

    A Java cluster tells states and reasons; `–` stands for the rest.
    """
    from connect.cli.top.scrapes import scraped
    from connect.client.task_lines import COLUMNS, cells, task_lines

    pause = threading.Event()
    before = scraped(client)
    while True:
        pause.wait(interval_s)
        now, connectors = scraped(client), client.connectors()
        lines = task_lines(connectors, before, now)
        before = now
        if as_json:
            print_json([asdict(line) for line in lines])
            return
        if not once:
            click.clear()
        print_table(COLUMNS, [cells(line) for line in lines])
        if once:
            return
