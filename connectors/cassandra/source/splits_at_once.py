"""Reads several splits at once: each asks for its next page, and the page that comes first is taken first."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from connect.lib.deadline import Deadline
from connectors.cassandra.cql.tables import Table
from connectors.cassandra.source.split_reader import SplitReader
from connectors.cassandra.source.sweeps import Sweep

_LOOK_S: Final = 0.05
"""A wait for pages looks at least this often if the task is to stop."""


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """Holds the reader of a split, and the sweep that it is on."""

    reader: SplitReader
    sweep: Sweep

    @property
    def table(self) -> Table:
        """Return the table that the split belongs to."""
        return self.reader.split.table


class SplitsAtOnce:
    """Holds the splits that a task reads now. Owned by the task thread; threads of the driver only call `ring`."""

    def __init__(self, most: int) -> None:
        """Read at most `most` splits at once. Each keeps one page that nobody has taken yet."""
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
        """Wake up `ready`, as a page has come or failed."""
        self._bell.set()

    def add(self, reading: Reading) -> None:
        """Begin to read a split."""
        self._readings.append(reading)

    def remove(self, reading: Reading) -> None:
        """Remove a split that is read to its end or given up."""
        self._readings.remove(reading)

    def remove_table(self, table: Table) -> None:
        """Remove all splits of a table."""
        self._readings = [reading for reading in self._readings if reading.table is not table]

    def ready(self, deadline: Deadline) -> Reading | None:
        """Return the next split whose page has come or failed, or is still to be asked for; None if the time is over.

        The split goes to the end of the line, so that others that are ready get their turn.
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
        """Return a table whose page has been waited for longer than `late_s` seconds; None if there is none."""
        return next((reading.table for reading in self._readings if reading.reader.late_s > late_s), None)
