"""Write each table by the writer of the mode that was chosen for it, with dedup.mode=auto."""

from __future__ import annotations

from collections.abc import Mapping

from connectors.bigquery.dedup.sealed_batch import Refusals, SealedBatch
from connectors.bigquery.dedup.side_tables import MODE_LABEL
from connectors.bigquery.merge.several_tables import raise_worst
from connectors.bigquery.modes.auto import CHOICES
from connectors.bigquery.modes.mode import TableWriter
from connectors.bigquery.warehouse.warehouse import Warehouse


class WritersByTable:
    """Hands batches on. Its methods block, and are called by several threads, one table a thread."""

    def __init__(self, warehouse: Warehouse, writers: Mapping[str, TableWriter]) -> None:
        """Take the writer of each mode."""
        self._warehouse = warehouse
        self._writers = writers
        self._of_table: dict[str, TableWriter] = {}

    @property
    def threads(self) -> int:
        """Return the most threads that call `write` and `collect` at a time."""
        return sum(writer.threads for writer in self._writers.values())

    @property
    def collects(self) -> bool:
        """Return True if a writer collects."""
        return any(writer.collects for writer in self._writers.values())

    def doing(self, target: str) -> str:
        """Return what becomes of a batch of this table, for people."""
        writer = self._of_table.get(target)
        return "its mode is looked up" if writer is None else writer.doing(target)

    def write(self, batch: SealedBatch) -> Refusals:
        """Return once the rows are in the table, but for those refused. RetriableError: they may be, and the same call
        is made again."""
        target = batch.target
        if target not in self._of_table:
            table = self._warehouse.table(target)
            label = "" if table is None else table.labels.get(MODE_LABEL, "")
            # Whoever took the label away gets the first of both, which are the same but for what they cost.
            self._of_table[target] = self._writers[label if label in CHOICES else next(iter(CHOICES))]
        return self._of_table[target].write(batch)

    def collect(self) -> None:
        """Collect by each writer; what one raised is raised in the end."""
        failures: list[Exception] = []
        for writer in self._writers.values():
            if writer.collects:
                try:
                    writer.collect()
                except Exception as error:  # noqa: BLE001 - whatever fails holds up no other table, and is raised below
                    failures.append(error)
        raise_worst(failures)

    def sweep(self) -> None:
        """Drop what an earlier life staged."""
        next(iter(self._writers.values())).sweep()

    def stop(self) -> None:
        """End every wait."""
        for writer in self._writers.values():
            writer.stop()

    def close(self) -> None:
        """Close what was opened."""
        for writer in self._writers.values():
            writer.close()
