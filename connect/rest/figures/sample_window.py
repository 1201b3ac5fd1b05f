"""Keeps the last samples of the figures of all tasks, and computes rates from them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_EMPTY: Final[Mapping[str, float]] = {}


@dataclass(frozen=True, slots=True)
class Sample:
    """Holds the figures of each task, as `name-0`, at one moment. `silent` says why workers did not answer."""

    at_s: float
    figures: Mapping[str, Mapping[str, float]]
    silent: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Pace:
    """Holds the sums of the rates and lags of several tasks. None means that a value is not known."""

    rows_per_s: float | None = None
    lag_rows: float | None = None
    lag_s: float | None = None


@dataclass(frozen=True, slots=True)
class SampleWindow:
    """Holds the last samples, oldest first; there is at least one."""

    samples: Sequence[Sample]

    @property
    def silent(self) -> Mapping[str, str]:
        """Return why workers did not answer for the last sample, by worker."""
        return self.samples[-1].silent

    def figures(self, task: str) -> Mapping[str, float]:
        """Return the last figures of a task; empty if its worker did not answer."""
        return self.samples[-1].figures.get(task, _EMPTY)

    def rate(self, task: str, figure: str = "rows_total") -> float | None:
        """Return the growth of a figure per second; None if it is not known, or if the task began again meanwhile."""
        return self._rate(len(self.samples) - 1, task, figure)

    def rates(self, tasks: Sequence[str], figure: str = "rows_total") -> list[float | None]:
        """Return the sum of several tasks' rates at each moment; None where none is known."""
        return [total([self._rate(at, task, figure) for task in tasks]) for at in range(1, len(self.samples))]

    def lags(self, tasks: Sequence[str]) -> list[float | None]:
        """Return the sum of several tasks' lags in rows at each moment; None if none is known."""
        return [total([lag_rows(sample.figures.get(task, _EMPTY)) for task in tasks]) for sample in self.samples]

    def pace(self, tasks: Sequence[str]) -> Pace:
        """Return the present rates and lags of several tasks together."""
        found = [self.figures(task) for task in tasks]
        return Pace(
            total([self.rate(task) for task in tasks]),
            total([lag_rows(counted) for counted in found]),
            largest([counted.get("lag_s", counted.get("source_lag_s")) for counted in found]),
        )

    @property
    def span_s(self) -> float:
        """Return the seconds from the first sample to the last one."""
        return self.samples[-1].at_s - self.samples[0].at_s

    def _rate(self, at: int, task: str, figure: str) -> float | None:
        if at < 1:
            return None
        was, now = self.samples[at - 1], self.samples[at]
        before, after = was.figures.get(task, _EMPTY), now.figures.get(task, _EMPTY)
        if not before or not after or now.at_s <= was.at_s:
            return None
        grown = after.get(figure, 0.0) - before.get(figure, 0.0)
        return grown / (now.at_s - was.at_s) if grown >= 0 else None


def lag_rows(figures: Mapping[str, float]) -> float | None:
    """Return the lag of a task in rows; that of a source is a lower bound. None if its figures do not tell."""
    return figures.get("lag_rows", figures.get("source_lag_rows"))


def total(values: Sequence[float | None]) -> float | None:
    """Return the sum of the known values; None if there is none."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def largest(values: Sequence[float | None]) -> float | None:
    """Return the largest of the known values; None if there is none."""
    return max((value for value in values if value is not None), default=None)
