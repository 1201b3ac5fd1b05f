"""Defines `connect flow`, which shows sources, topics, sinks and backfills of a cluster, and what leads where."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from connect.cli.shared.cluster_options import as_json, cluster_command, print_json
from connect.cli.shared.table import natural_width, print_table, shortened
from connect.cli.shared.terminal import echo
from connect.lib.printable import printable

if TYPE_CHECKING:
    from connect.client.rest import ConnectClient

_commands = click.Group()
_COLUMNS: Final = ("FROM", "DOES", "TO", "KNOWN BY", "ROWS/S", "LAG")
_NOTHING: Final = "–"
_INDENT: Final = "    "
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


class End(NamedTuple):
    """Holds a node as words: what it is, its name, and its state in brackets. The name alone may be shortened."""

    kind: str = ""
    name: str = _NOTHING
    state: str = ""

    def text(self, room: int | None = None, indent: str = "") -> str:
        """Return the words in so many columns of a terminal, if these have room for a name; None: whole."""
        before, after = f"{indent}{self.kind}{self.kind and ' '}", f"{self.state and ' '}{self.state}"
        name = printable(self.name)
        least = 12 if room is None else max(12, room - len(before) - len(after))
        return f"{before}{name if room is None else shortened(name, least)}{after}"


class Line(NamedTuple):
    """Holds a line of the flow: its `start` does something to its `end`, or stands alone."""

    start: End
    does: str
    end: End
    known: str
    rows_per_s: str
    lag: str

    def cells(self) -> tuple[str, ...]:
        """Return the cells of a table."""
        return (self.start.text(), self.does, self.end.text(), *self[3:])


def show(lines: Sequence[Line], width: int | None) -> None:
    """Print the lines as a table, or as sentences where a terminal is too narrow for one: its cells would be cut into
    pieces. None: no terminal.
    """
    cells = [tuple(map(printable, line.cells())) for line in lines]
    if width is None or natural_width(_COLUMNS, cells) <= width:
        print_table(_COLUMNS, cells)
        return
    for line in lines:
        for text in _sentence(line, width):
            echo(text)


def _sentence(line: Line, width: int) -> Iterator[str]:
    whole = f"{line.start.text()} {line.does} {line.end.text()}"
    if line.does == _NOTHING:
        yield line.start.text(width)
    elif natural_width([printable(whole)]) <= width:
        yield whole
    else:
        yield line.start.text(width)
        yield line.end.text(width, f"  {line.does} ")
    told = (f"{line.rows_per_s} rows/s", f"lag {line.lag}", f"known by {line.known}")
    if known_parts := [part for part in told if _NOTHING not in part.split()]:
        yield f"{_INDENT}{'; '.join(known_parts)}"


def _lines(found: Mapping[str, Any]) -> Iterator[Line]:
    """Yield a line for each edge, and behind those of a connector with several topics one for all of them; then one for
    each node that nothing leads to or from.
    """
    nodes = {node["id"]: node for node in found["nodes"]}
    bundles = {(one["node"], one["does"]): one for one in found.get("bundles", ())}
    last = {_mover(edge): at for at, edge in enumerate(found["edges"])}
    for at, edge in enumerate(found["edges"]):
        known = [word for word, is_so in (("configuration", edge["declared"]), ("rows", edge["seen"])) if is_so]
        ends = _named(nodes[edge["start"]]), _named(nodes[edge["end"]])
        yield Line(ends[0], edge["does"], ends[1], ", ".join(known), *_pace(edge))
        bundle = bundles.get(_mover(edge))
        if bundle is not None and last[_mover(edge)] == at:
            mover, topics = _named(nodes[bundle["node"]]), End("all", f"{bundle['topics']:,}", "topics together")
            ends = (topics, mover) if edge["does"] == "reads" else (mover, topics)
            yield Line(ends[0], edge["does"], ends[1], _NOTHING, *_pace(bundle))
    tied = {id_ for edge in found["edges"] for id_ in (edge["start"], edge["end"])}
    for id_, node in nodes.items():
        if id_ not in tied:
            yield Line(_named(node), _NOTHING, End(), _NOTHING, *_pace(node))


def _mover(edge: Mapping[str, Any]) -> tuple[str, str]:
    """Return the connector or backfill of an edge, and what it does."""
    return edge["end"] if edge["does"] == "reads" else edge["start"], edge["does"]


def _named(node: Mapping[str, Any]) -> End:
    state = "NOT THERE" if node["is_there"] is False else node["state"]
    return End(node["kind"], node["name"], f"({state})" if state else "")


def _pace(part: Mapping[str, Any]) -> tuple[str, str]:
    rows, lag, lag_s = part["rows_per_s"], part["lag_rows"], part["lag_s"]
    behind = [f"{lag:,.0f} rows" if lag is not None else "", f"{lag_s:,.1f} s" if lag_s is not None else ""]
    return (_NOTHING if rows is None else f"{rows:,.1f}"), ", ".join(filter(None, behind)) or _NOTHING
