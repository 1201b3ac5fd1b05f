"""`connect top`: what each task of a cluster does now."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING

import click

from connect.cli.shared.cluster_options import as_json, cluster_command, print_json, print_table

if TYPE_CHECKING:
    from connect.client.rest import ConnectClient
    from connect.client.task_lines import Scrape

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


def scraped(client: ConnectClient) -> Scrape:
    """Return the figures of all workers that run tasks; those of a worker that tells none are left out."""
    from connect.api.errors import ConnectError
    from connect.client.rest import RefusedError
    from connect.client.task_lines import Scrape, figures_of, workers_of

    figures: dict[tuple[str, str], dict[str, float]] = {}
    # First the one that is asked: its own address may be one that is not known here.
    for worker in ["", *workers_of(client.connectors())]:
        try:
            figures |= figures_of(client.metrics(worker))
        except RefusedError as error:
            if error.status != HTTPStatus.NOT_FOUND:  # which a Java worker answers
                raise
        except ConnectError:
            if not worker:
                raise
            # One that cannot be reached from here: its tasks are shown without figures.
    return Scrape(time.monotonic(), figures)
