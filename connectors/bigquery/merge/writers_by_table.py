"""Writes each table by the writer of the mode that dedup.mode=auto has chosen for it."""

from __future__ import annotations

from collections.abc import Mapping

from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.dedup.side_tables import MODE_LABEL
from connectors.bigquery.merge.several_tables import raise_worst
from connectors.bigquery.modes.auto import CHOICES
from connectors.bigquery.modes.mode import TableWriter
from connectors.bigquery.warehouse.warehouse import Warehouse


class WritersByTable:
    """Hands batches on to writers. Its methods block; several threads call them, each for another table."""

    def __init__(self, warehouse: Warehouse, writers: Mapping[str, TableWriter]) -> None:
        """Take the writers by the names of their modes."""
        self._warehouse = warehouse
        self._writers = writers
        self._of_table: dict[str, TableWriter] = {}

    @property
    def threads(self) -> int:
        """Return the most threads that call `write` and `collect` at a time."""
        return sum(writer.threads for writer in self._writers.values())

    @property
    def collects(self) -> bool:
        """Return True if `collect` of any of the writers has something to do."""
        return any(writer.collects for writer in self._writers.values())

    def doing(self, target: str) -> str:
        """Return in words what happens to a batch of this table that is being written."""
        writer = self._of_table.get(target)
        return "its mode is looked up" if writer is None else writer.doing(target)

    def write(self, batch: SealedBatch) -> Refusals:
        """Write a batch, and return the refused rows once all others are in the table.

        Raise RetriableError if rows may be missing; then the same call is made again.
        """
        target = batch.target
        if target not in self._of_table:
            table = self._warehouse.table(target)
            label = "" if table is None else table.labels.get(MODE_LABEL, "")
            # If somebody took the label away, the first mode is used: both keep the same rows at different costs.
            self._of_table[target] = self._writers[label if label in CHOICES else next(iter(CHOICES))]
        return self._of_table[target].write(batch)

    def collect(self) -> None:
        """Call `collect` of each writer that collects. An error of one is raised after the others had their turn."""
        failures: list[Exception] = []
        for writer in self._writers.values():
            if writer.collects:
                try:
                    writer.collect()
                except Exception as error:  # noqa: BLE001 - whatever fails holds up no other table, and is raised below
                    failures.append(error)
        raise_worst(failures)

    def sweep(self) -> None:
        """Drop the staging tables that an earlier run of the task left. One writer drops those of all modes."""
        next(iter(self._writers.values())).sweep()

    def stop(self) -> None:
        """End every wait of the writers."""
        for writer in self._writers.values():
            writer.stop()

    def close(self) -> None:
        """Close the writers."""
        for writer in self._writers.values():
            writer.close()
