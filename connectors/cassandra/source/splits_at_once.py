"""Reads several splits at once: each has a page on its way, and the page that comes first is taken next."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from connect.lib.deadline import Deadline
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.source.split_reader import SplitReader
from connectors.cassandra.source.sweeps import Sweep

_LOOK_S: Final = 0.05
"""How long a wait for pages lasts at most before a stop is seen."""


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """A sweep of a split that is being read."""

    reader: SplitReader
    sweep: Sweep

    @property
    def table(self) -> Table:
        """Return the split's table."""
        return self.reader.split.table


class SplitsAtOnce:
    """The splits that a task reads now. Owned by the task thread; the driver's threads call `ring` only."""

    def __init__(self, most: int) -> None:
        """At most `most` splits are read at once. Each keeps one page that nobody has taken yet."""
        self._most = most
        self._bell = threading.Event()
        self._readings: list[Reading] = []

    def __len__(self) -> int:
        return len(self._readings)

    @property
    def is_full(self) -> bool:
        """Return True if no further split can be read for now."""
        return len(self._readings) >= self._most

    def ring(self) -> None:
        """Say that a page has come or failed."""
        self._bell.set()

    def add(self, reading: Reading) -> None:
        """Begin to read a split."""
        self._readings.append(reading)

    def remove(self, reading: Reading) -> None:
        """Remove a split that is read to its end, or given up."""
        self._readings.remove(reading)

    def remove_table(self, table: Table) -> None:
        """Remove the splits of a table."""
        self._readings = [reading for reading in self._readings if reading.table is not table]

    def ready(self, deadline: Deadline) -> Reading | None:
        """Return the split whose turn it is: its page has come or failed, or is still to be asked for. None: none in
        time.

        Who had a turn waits for the others that are ready.
        """
        while True:
            self._bell.clear()
            for reading in self._readings:
                if not reading.reader.waits:
                    self._readings.remove(reading)
                    self._readings.append(reading)
                    return reading
            if deadline.expired:
                return None
            self._bell.wait(min(_LOOK_S, deadline.remaining_s))

    def late_table(self, late_s: float) -> Table | None:
        """Return a table whose page has been waited for so long; None where there is none."""
        return next((reading.table for reading in self._readings if reading.reader.late_s > late_s), None)
