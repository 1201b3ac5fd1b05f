"""Makes the list of connectors for pages, searched and filtered, with what the connectors do now. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from connect.client.overview import Line, rank
from connect.rest.figures.sample_window import Pace, SampleWindow, total

ROWS: Final = 50
"""A page has this many connectors."""


@dataclass(frozen=True, slots=True)
class OverviewQuery:
    """Holds what a reader wants to see: a text in names, plug-ins or types, one state, and the number of a page, from
    1.
    """

    text: str = ""
    state: str = ""
    page: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    """Holds a connector, and the rates and lags of its tasks together."""

    line: Line
    pace: Pace


@dataclass(frozen=True, slots=True)
class Worker:
    """Holds a worker of the group and how many tasks it runs. `silent` says why its figures are unknown; it is empty if
    they are known.
    """

    id: str
    tasks: int
    silent: str


@dataclass(frozen=True, slots=True)
class Overview:
    """Holds the page of the list that was asked for. `found` of all `connectors` match; `states` counts all
    connectors.
    """

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
    """Return a page of `lines`, which are sorted. `tasks` has the tasks of each connector, `workers` counts those of a
    worker.
    """
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
