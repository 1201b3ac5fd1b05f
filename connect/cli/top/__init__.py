"""Defines `connect top`, which shows what each task of a cluster does now."""

from __future__ import annotations

import shutil
import sys
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from connect.cli.shared.cluster_options import as_json, cluster_command, print_json
from connect.cli.shared.sparkline import LEAST_COLUMNS, History
from connect.cli.shared.table import least_width, print_table, shortened
from connect.cli.shared.terminal import echo_folded, until_interrupted
from connect.lib.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connect.client.rest import ConnectClient
    from connect.client.task_lines import TaskLine

_commands = click.Group()


@cluster_command(
    _commands, as_json, click.option("--once", is_flag=True, help="One table, and end."),
    click.option("--interval", "interval_s", default=2.0, show_default=True, type=click.FloatRange(0.2),
                 help="Seconds between two looks, over which rates are counted."),
)  # fmt: skip
def top(client: ConnectClient, as_json: bool, once: bool, interval_s: float) -> None:
    """Every task: state, rows a second, lag, CPU, memory, and why it does not move; until Ctrl-C.

    On a terminal of 100 columns TREND draws the last rates of a task, as parts of the largest; one that is too narrow
    shows reasons below the table, and neither hosts nor workers. A Java cluster tells states and reasons; `–` is what
    it does not tell.
    """
    from connect.cli.top.scrapes import scraped
    from connect.client.task_lines import task_lines

    pause, rates = threading.Event(), History()
    before = scraped(client)
    with until_interrupted():
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
            rates.add({(line.connector, line.task): line.rows_per_second for line in lines})
            show(lines, None if once else rates, shutil.get_terminal_size().columns, is_terminal=sys.stdout.isatty())
            if once:
                return


def show(lines: Sequence[TaskLine], rates: History | None, width: int, *, is_terminal: bool) -> None:
    """Print a table of tasks, with their last rates where `width` columns have room for them."""
    from connect.client.task_lines import COLUMNS, cells

    rows = [(line, cells(line)) for line in lines]
    tables: list[tuple[Sequence[str], list[Sequence[str]]]] = [(COLUMNS, [row for _, row in rows])]
    if rates is not None:
        after, encoding = COLUMNS.index("ROWS/S") + 1, sys.stdout.encoding or "ascii"
        drawn: list[Sequence[str]] = [
            (*row[:after], rates.line((of.connector, of.task), encoding), *row[after:]) for of, row in rows
        ]
        tables.insert(0, ((*COLUMNS[:after], "TREND", *COLUMNS[after:]), drawn))
    if width < LEAST_COLUMNS:
        tables = [] if is_terminal else tables[-1:]
    for columns, texts in tables:
        if not is_terminal or least_width(columns, texts) <= width:
            print_table(columns, texts)
            return
    end = COLUMNS.index("HOST CPU")
    print_table(COLUMNS[:end], [row[:end] for _, row in rows])
    for line in lines:
        if line.reason:
            name = shortened(printable(line.connector), width // 2)
            echo_folded(f"{name}{f', task {line.task}' if line.task else ''}: {line.reason}", "")
