"""Decides how often a table is read, and which of its rows count each time. Pure.

A sweep is one reading of a split from its first token to its last. A sweep by time has a window. The window ends so
long ago that no row can still come late; later rows belong to the next sweep.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from connect.api.errors import ConnectError
from connect.api.optional.given_offsets import whole_number

_WINDOW: Final = ("after_ms", "upto_ms")
MODES: Final = ("snapshot", "bulk", "timestamp", "timeuuid")


@dataclass(frozen=True, slots=True)
class Window:
    """Selects the rows whose time is after `after_ms` and at most `upto_ms`, in milliseconds since 1970."""

    after_ms: int
    upto_ms: int


@dataclass(frozen=True, slots=True)
class Sweep:
    """Describes one reading of a split: its number, from 0, and the window of its rows; None: all rows count."""

    number: int = 0
    window: Window | None = None

    @property
    def offset(self) -> Mapping[str, object]:
        """Return the members of a source offset that describe this sweep."""
        window = {} if self.window is None else {"after_ms": self.window.after_ms, "upto_ms": self.window.upto_ms}
        return {"sweep": self.number, **window}


class Mode(Protocol):
    """Decides which sweeps of a split there are."""

    def first(self, now_ms: int) -> Sweep:
        """Return the first sweep of a split."""

    def next(self, done: Sweep, now_ms: int) -> Sweep | None:
        """Return the sweep that follows `done`; None if there is none."""


class Once:
    """Reads every row once."""

    def first(self, now_ms: int) -> Sweep:
        """Return the only sweep."""
        del now_ms
        return Sweep()

    def next(self, done: Sweep, now_ms: int) -> Sweep | None:
        """Return None, as there is no further sweep."""
        del done, now_ms
        return None


class Repeated:
    """Reads every row again and again."""

    def first(self, now_ms: int) -> Sweep:
        """Return a sweep of all rows."""
        del now_ms
        return Sweep()

    def next(self, done: Sweep, now_ms: int) -> Sweep | None:
        """Return another sweep of all rows."""
        del now_ms
        return Sweep(done.number + 1)


class Windows:
    """Reads rows by their time once it is `settle_ms` ago, as clocks differ and a write takes time."""

    def __init__(self, initial_ms: int, settle_ms: int) -> None:
        self._initial_ms = initial_ms
        self._settle_ms = settle_ms

    def first(self, now_ms: int) -> Sweep:
        """Return a sweep of the rows up to now, except for the last `settle_ms`, whose rows may still come."""
        return Sweep(0, self._window(self._initial_ms, now_ms))

    def next(self, done: Sweep, now_ms: int) -> Sweep | None:
        """Return the sweep of the rows behind the last window."""
        assert done.window is not None
        return Sweep(done.number + 1, self._window(done.window.upto_ms, now_ms))

    def _window(self, after_ms: int, now_ms: int) -> Window:
        return Window(after_ms, max(after_ms, now_ms - self._settle_ms))


def sweep_of(stored: Mapping[str, object] | None) -> Sweep | None:
    """Return the sweep that a stored offset describes; None without an offset. ConnectError: its window is broken."""
    if stored is None:
        return None
    number, after_ms, upto_ms = (stored.get(name) for name in ("sweep", "after_ms", "upto_ms"))
    given = int(number) if isinstance(number, int) else 0
    if after_ms is None and upto_ms is None:
        return Sweep(given)
    if not isinstance(after_ms, int) or not isinstance(upto_ms, int):
        raise ConnectError(
            f"The stored offset has the window {after_ms!r} to {upto_ms!r}.",
            fix="Reset the connector's offsets to read the tables again.",
        )
    return Sweep(given, Window(after_ms, upto_ms))


def broken_window(offset: Mapping[str, object]) -> dict[str, str]:
    """Return what is wrong with the sweep in an offset that a person gives: member -> end of a sentence or ""."""
    is_window = any(offset.get(name) is not None for name in _WINDOW)
    given = ["sweep", *_WINDOW] if is_window else ["sweep"]
    return {name: whole_number(offset.get(name, 0 if name == "sweep" else None), -(2**63)) for name in given}


def moment_ms(text: str) -> int:
    """Return a time such as 2024-05-01 00:00:00Z in milliseconds since 1970; a text without a zone is in UTC.

    ValueError: the text is no time.
    """
    moment = datetime.fromisoformat(text)
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
