"""All connectors on pages of fifty, searched and filtered, with what they do now. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from connect.client.overview import Line, rank
from connect.rest.figures.sample_window import Pace, SampleWindow, total

ROWS: Final = 50
"""One page has so many connectors."""


@dataclass(frozen=True, slots=True)
class OverviewQuery:
    """What a reader wants to see: a text in names, plug-ins or types; one state; a page of the result, from 1 on."""

    text: str = ""
    state: str = ""
    page: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    """A connector, and what its tasks do together."""

    line: Line
    pace: Pace


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker of the group and the tasks it runs. `silent`: why its figures are not known; empty when they are."""

    id: str
    tasks: int
    silent: str


@dataclass(frozen=True, slots=True)
class Overview:
    """A page of the list that was asked for. `found` of `connectors` fit; `states` counts all of them."""

    rows: Sequence[Row]
    asked: OverviewQuery
    found: int
    connectors: int
    pages: int
    states: Sequence[tuple[str, int]]
    workers: Sequence[Worker]
    rows_per_s: float | None


def overview_page(
    lines: Sequence[Line],
    tasks: Mapping[str, Sequence[str]],
    workers: Mapping[str, int],
    look: SampleWindow,
    asked: OverviewQuery,
) -> Overview:
    """Return a page of `lines`, which are sorted. `tasks` are each connector's by name; `workers` counts each one's."""
    fitting = [line for line in lines if _fits(line, asked)]
    pages = max(1, -(-len(fitting) // ROWS))
    page = min(max(1, asked.page), pages)
    shown = fitting[(page - 1) * ROWS : page * ROWS]
    states = Counter(line.state for line in lines)
    return Overview(
        [Row(line, look.pace(tasks.get(line.name, ()))) for line in shown],
        OverviewQuery(asked.text, asked.state, page),
        len(fitting),
        len(lines),
        pages,
        sorted(states.items(), key=lambda pair: rank(pair[0])),
        [Worker(id_, count, look.silent.get(id_, "")) for id_, count in sorted(workers.items())],
        total([look.rate(task) for named in tasks.values() for task in named]),
    )


def _fits(line: Line, asked: OverviewQuery) -> bool:
    text = asked.text.strip().lower()
    named = not text or any(text in part.lower() for part in (line.name, line.plugin, line.type))
    return named and asked.state in {"", line.state}
