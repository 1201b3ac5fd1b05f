"""Decide how often a table is read, and which of its rows count each time. Pure.

A sweep is one reading of a split from its first token to its last. Its window, where there is one, is a time behind
which nothing is late any more; rows of the next moments are the next sweep's.
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
    """The rows that have a time after `after_ms` and up to `upto_ms`, in milliseconds since 1970."""

    after_ms: int
    upto_ms: int


@dataclass(frozen=True, slots=True)
class Sweep:
    """One reading of a split: its number from 0, and the window of the rows that count, None where all do."""

    number: int = 0
    window: Window | None = None

    @property
    def offset(self) -> Mapping[str, object]:
        """Return the members of the source offset that tell the sweep."""
        window = {} if self.window is None else {"after_ms": self.window.after_ms, "upto_ms": self.window.upto_ms}
        return {"sweep": self.number, **window}


class Mode(Protocol):
    """Decides which sweeps of a split there are."""

    def first(self, now_ms: int) -> Sweep:
        """Return the first sweep of a split."""

    def next(self, done: Sweep, now_ms: int) -> Sweep | None:
        """Return the sweep after one; None where there is no further one."""


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
    """Reads rows by a time of theirs once it is `settle_ms` ago, as clocks differ and a write takes time."""

    def __init__(self, initial_ms: int, settle_ms: int) -> None:
        self._initial_ms = initial_ms
        self._settle_ms = settle_ms

    def first(self, now_ms: int) -> Sweep:
        """Return a sweep of the rows up to now, but for those that may still be late."""
        return Sweep(0, self._window(self._initial_ms, now_ms))

    def next(self, done: Sweep, now_ms: int) -> Sweep | None:
        """Return the sweep of the rows that have come since."""
        assert done.window is not None
        return Sweep(done.number + 1, self._window(done.window.upto_ms, now_ms))

    def _window(self, after_ms: int, now_ms: int) -> Window:
        return Window(after_ms, max(after_ms, now_ms - self._settle_ms))


def sweep_of(stored: Mapping[str, object] | None) -> Sweep | None:
    """Return the sweep of a stored offset; None where it has none. ConnectError: its members are no window."""
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
    """Return what keeps an offset that a person gives from telling its sweep, as ends of sentences."""
    is_window = any(offset.get(name) is not None for name in _WINDOW)
    given = ["sweep", *_WINDOW] if is_window else ["sweep"]
    return {name: whole_number(offset.get(name, 0 if name == "sweep" else None), -(2**63)) for name in given}


def moment_ms(text: str) -> int:
    """Return the milliseconds since 1970 of a text such as 2024-05-01 00:00:00Z; UTC without a zone.

    ValueError: it is no time.
    """
    moment = datetime.fromisoformat(text)
    return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
