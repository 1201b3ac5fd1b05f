"""`connect flow`: sources, topics, sinks and backfills of a cluster, and what leads where."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from connect.cli.shared.cluster_options import as_json, cluster_command, print_json, print_table
from connect.cli.shared.terminal import echo

if TYPE_CHECKING:
    from connect.client.rest import ConnectClient

_commands = click.Group()
_COLUMNS: Final = ("FROM", "DOES", "TO", "KNOWN BY", "ROWS/S", "LAG")
_NOTHING: Final = "–"
_GAP: Final = 2
"""This is how far the columns of a table are apart."""
_LOOK_S = 2.5
"""A worker looks at figures every two seconds, and knows rates from its second look on."""


@cluster_command(_commands, as_json, click.option("--once", is_flag=True, help="Ask once: at first without rates."))
def flow(client: ConnectClient, as_json: bool, once: bool) -> None:
    """What leads from where to where, with rates and lag: what is declared, and what is there."""
    found = client.call("GET", "/flow")
    if not once and any(node["rows_per_s"] is None and node["state"] == "RUNNING" for node in found["nodes"]):
        threading.Event().wait(_LOOK_S)
        found = client.call("GET", "/flow")
    if as_json:
        print_json(found)
        return
    show(list(_lines(found)), shutil.get_terminal_size().columns if sys.stdout.isatty() else None)
    for name in found["not_told"]:
        echo(f"Kafka did not tell its {name} in time.", err=True)
    for worker, why in found["silent"].items():
        echo(f"Worker {worker} tells no figures: {why}.", err=True)


def show(lines: Sequence[tuple[str, ...]], width: int | None) -> None:
    """Print the lines as a table, or as sentences where a terminal is too narrow for one: its cells would be cut into
    pieces. None: no terminal.
    """
    longest = [max(map(len, column)) for column in zip(_COLUMNS, *lines, strict=True)]
    if width is None or sum(longest) + _GAP * len(longest) <= width:
        print_table(_COLUMNS, lines)
        return
    for start, does, end, known, rows_per_s, lag in lines:
        echo(start if does == _NOTHING else f"{start} {does} {end}")
        told = (f"{rows_per_s} rows/s", f"lag {lag}", f"known by {known}")
        if known_parts := [part for part in told if _NOTHING not in part.split()]:
            echo(f"    {'; '.join(known_parts)}")


def _lines(found: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield a line for each edge, then one for each node that nothing leads to or from."""
    nodes = {node["id"]: node for node in found["nodes"]}
    for edge in found["edges"]:
        known = [word for word, is_so in (("configuration", edge["declared"]), ("rows", edge["seen"])) if is_so]
        ends = _named(nodes[edge["start"]]), _named(nodes[edge["end"]])
        yield ends[0], edge["does"], ends[1], ", ".join(known), *_pace(edge)
    tied = {id_ for edge in found["edges"] for id_ in (edge["start"], edge["end"])}
    for id_, node in nodes.items():
        if id_ not in tied:
            yield _named(node), _NOTHING, _NOTHING, _NOTHING, *_pace(node)


def _named(node: Mapping[str, Any]) -> str:
    state = "NOT THERE" if node["is_there"] is False else node["state"]
    return f"{node['kind']} {node['name']}{f' ({state})' if state else ''}"


def _pace(part: Mapping[str, Any]) -> tuple[str, str]:
    rows, lag, lag_s = part["rows_per_s"], part["lag_rows"], part["lag_s"]
    behind = [f"{lag:,.0f} rows" if lag is not None else "", f"{lag_s:,.1f} s" if lag_s is not None else ""]
    return (_NOTHING if rows is None else f"{rows:,.1f}"), ", ".join(filter(None, behind)) or _NOTHING
