"""Several splits of a task that are read at once: each has a page on its way, and the page that comes first is next."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from connect.api.deadline import Deadline
from connectors.cassandra.split_reader import SplitReader
from connectors.cassandra.sweeps import Sweep
from connectors.cassandra.tables import Table

_LOOK_S: Final = 0.05
"""How soon a stop is seen while pages are waited for."""


@dataclass(frozen=True, eq=False, slots=True)
class Reading:
    """A sweep of a split that is being read."""

    reader: SplitReader
    sweep: Sweep

    @property
    def table(self) -> Table:
        """The split's table."""
        return self.reader.split.table


class SplitsAtOnce:
    """Owned by the task thread; the driver's threads only `ring`."""

    def __init__(self, most: int) -> None:
        """`most`: how many splits are read at once. Each of them keeps one page that nobody has taken yet."""
        self._most = most
        self._bell = threading.Event()
        self._readings: list[Reading] = []

    def __len__(self) -> int:
        return len(self._readings)

    @property
    def is_full(self) -> bool:
        """No more splits are read for now."""
        return len(self._readings) >= self._most

    def ring(self) -> None:
        """A page has come, or failed."""
        self._bell.set()

    def add(self, reading: Reading) -> None:
        """Begin to read a split."""
        self._readings.append(reading)

    def remove(self, reading: Reading) -> None:
        """A split is read, or given up."""
        self._readings.remove(reading)

    def remove_table(self, table: Table) -> None:
        """Give up the splits of a table."""
        self._readings = [reading for reading in self._readings if reading.table is not table]

    def ready(self, deadline: Deadline) -> Reading | None:
        """The split whose turn it is: its page has come or failed, or is still to be asked for. None: none in time.

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
        """A table of which a page has been waited for so long."""
        return next((reading.table for reading in self._readings if reading.reader.late_s > late_s), None)
