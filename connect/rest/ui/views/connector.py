"""Makes what the page of a connector shows. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect.client.overview import rank
from connect.client.reasons import Reason
from connect.rest.figures.sample_window import Pace, SampleWindow
from connect.rest.ui.views.numbers import cut

TRACE_CHARS: Final = 4000
"""A longer trace is cut, and a link leads to the whole one."""
VALUE_CHARS: Final = 600
KEYS: Final = 300
TOPICS: Final = 200
TASKS: Final = 100


@dataclass(frozen=True, slots=True)
class Trace:
    """Holds the trace of a failure, which may be cut. `chars` is its full length; `task` is None if it is the trace of
    the connector itself.
    """

    task: int | None
    text: str
    chars: int

    @property
    def is_cut(self) -> bool:
        """Return True if the trace was cut."""
        return self.chars > len(self.text)


@dataclass(frozen=True, slots=True)
class TaskRow:
    """Holds a task and what it does now. A value that is not known is None."""

    number: int
    state: str
    worker: str
    rows_per_s: float | None
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ReasonLine:
    """Holds a line of `connect connectors why`, and the trace of the failure that it is about."""

    about: str
    text: str
    trace: Trace | None


@dataclass(frozen=True, slots=True)
class LiveState:
    """Holds the parts of a connector's page that change by themselves. `state` is the worst state of connector and
    tasks.
    """

    name: str
    type: str
    state: str
    own_state: str
    why: Sequence[ReasonLine]
    tasks: Sequence[TaskRow]
    """Tasks that need a person come first; there are at most TASKS of `task_count`."""
    task_count: int
    has_failed: bool
    """It is True if the connector or one of its tasks has failed."""
    pace: Pace
    rates: Sequence[float | None]
    lags: Sequence[float | None]
    span_s: float
    silent: Mapping[str, str]


def standing(status: Mapping[str, Any], found: Sequence[Reason], look: SampleWindow) -> LiveState:
    """Return the parts that change. `status` is Kafka Connect's ConnectorStateInfo, `found` what `connect connectors
    why` says.
    """
    name, own = status["name"], status["connector"]
    ids = [f"{name}-{task['id']}" for task in status["tasks"]]
    worst = sorted(status["tasks"], key=lambda task: (rank(task["state"]), task["id"]))[:TASKS]
    tasks = [_task(name, task, look) for task in worst]
    workers = {task.get("worker_id") for task in status["tasks"]}
    states = {own["state"], *(task["state"] for task in status["tasks"])}
    return LiveState(
        name, status["type"], min(states, key=rank), own["state"], _why(status, worst, found), tasks, len(ids),
        has_failed="FAILED" in states,
        pace=look.pace(ids), rates=look.rates(ids), lags=look.lags(ids),
        span_s=look.span_s,
        silent={worker: why for worker, why in look.silent.items() if worker in workers},
    )  # fmt: skip


def _why(status: Mapping[str, Any], worst: Sequence[Mapping[str, Any]], found: Sequence[Reason]) -> list[ReasonLine]:
    """Return the lines about the connector, about those tasks that are shown, and about the first without a status."""
    told = {f"task {task['id']}" for task in status["tasks"]}
    unheard = [one.about for one in found if one.about.startswith("task ") and one.about not in told]
    left_out = {*told, *unheard[TASKS:]}
    traces = {f"task {task['id']}": _trace(task["id"], task) for task in worst}
    traces[f"connector {status['name']}"] = _trace(None, status["connector"])
    return [
        ReasonLine(reason.about, cut(reason.text, VALUE_CHARS), traces.get(reason.about))
        for reason in found
        if reason.about not in left_out or reason.about in traces
    ]


def _task(name: str, task: Mapping[str, Any], look: SampleWindow) -> TaskRow:
    id_ = f"{name}-{task['id']}"
    return TaskRow(task["id"], task["state"], task.get("worker_id", ""), look.rate(id_), look.figures(id_))


def _trace(task: int | None, part: Mapping[str, Any]) -> Trace | None:
    text = str(part.get("trace") or "")
    return Trace(task, text[:TRACE_CHARS], len(text)) if text else None


@dataclass(frozen=True, slots=True)
class Settings:
    """Holds a configuration, cut if it is too long for a page. `more` is the number of keys that are not shown."""

    values: Sequence[tuple[str, str]]
    more: int


def settings(masked: Mapping[str, str]) -> Settings:
    """Return a configuration with masked secrets, sorted by key, with the class first."""
    keys = sorted(masked, key=lambda key: (key != "connector.class", key))
    return Settings([(key, cut(masked[key], VALUE_CHARS)) for key in keys[:KEYS]], max(0, len(keys) - KEYS))
