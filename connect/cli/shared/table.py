"""Prints tables: on a terminal no wider than it is, with long names shortened; whole into a pipe."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Final

from connect.cli.shared.terminal import cell, echo
from connect.lib.printable import printable

NAMES: Final = frozenset({"NAME", "CONNECTOR", "FROM", "TO"})
"""Cells of columns with these titles are shortened in the middle where a terminal is too narrow for them."""
PART: Final = "…"
"""It stands for the part of a name that is not shown."""
_GAP: Final = 2
"""This is how far columns are apart."""
_LEAST_NAME: Final = 12
_LEAST_TEXT: Final = 16
"""A last column of texts, as reasons, keeps so much room at least, and half of it where there is more. It is folded."""
_PIPE: Final = 400
_STYLES: Final = {
    "RUNNING": "green", "FAILED": "bold red", "PAUSED": "yellow", "STOPPED": "dim", "UNASSIGNED": "yellow",
}  # fmt: skip


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows in columns; a cell's text is shown as it is, cut nowhere on a pipe.

    A character that the terminal has not is shown as `?`.
    """
    from rich.console import Console
    from rich.table import Table

    texts = [[printable("" if one is None else str(one)) for one in row] for row in rows]
    needed = natural_width(columns, texts)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    console = Console(width=None if sys.stdout.isatty() else max(_PIPE, needed), highlight=False)
    whole = texts
    if needed > console.width:
        texts = _fitted(columns, texts, console.width)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in texts:
        table.add_row(*(cell(one, _STYLES.get(one.split(" ", maxsplit=1)[0], "")) for one in row))
    console.print(table)
    if texts != whole:
        echo(f"{PART} stands for a part of a name: --json has it whole.")


def natural_width(columns: Sequence[str], texts: Sequence[Sequence[str]] = ()) -> int:
    """Return the columns of a terminal that a table needs to be shown whole."""
    return sum(_widths(columns, texts)) + _GAP * (len(columns) - 1)


def least_width(columns: Sequence[str], texts: Sequence[Sequence[str]]) -> int:
    """Return the columns of a terminal below which a table's cells are cut into pieces, however short its names are."""
    widths = _widths(columns, texts)
    least = [_LEAST_NAME if column in NAMES else sys.maxsize for column in columns]
    least[-1] = min(least[-1], _LEAST_TEXT)
    return sum(map(min, widths, least)) + _GAP * (len(columns) - 1)


def shortened(name: str, width: int) -> str:
    """Return a name in at most so many columns of a terminal: its begin and its end, if it is longer."""
    from rich.cells import cell_len, chop_cells

    if cell_len(name) <= width:
        return name
    end_width = (width - 1) // 2
    start = chop_cells(name, max(1, width - 1 - end_width))[0]
    end = chop_cells(name[::-1], max(1, end_width))[0][::-1]
    return f"{start}{PART}{end}"


def _widths(columns: Sequence[str], texts: Sequence[Sequence[str]]) -> list[int]:
    from rich.cells import cell_len

    return [max(map(cell_len, "\n".join(column).split("\n"))) for column in zip(columns, *texts, strict=True)]


def _fitted(columns: Sequence[str], texts: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """Return the cells with names that are short enough for the others to have their room."""
    widths = _widths(columns, texts)
    named = [at for at, column in enumerate(columns) if column in NAMES]
    left = width - _GAP * (len(columns) - 1) - sum(one for at, one in enumerate(widths[:-1]) if at not in named)
    if len(columns) - 1 not in named:
        left -= min(widths[-1], max(_LEAST_TEXT, left // 2))
    for at in sorted(named, key=lambda at: widths[at]):
        # A short name leaves more room for the others.
        widths[at] = min(widths[at], max(_LEAST_NAME, left // len(named)))
        left -= widths[at]
        named.remove(at)
    return [
        [shortened(text, widths[at]) if columns[at] in NAMES else text for at, text in enumerate(row)] for row in texts
    ]
