"""dedup.mode=auto: merge or compact, chosen once for each table, as what it costs and what it has been so far say."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from connectors.bigquery.modes.compact import CompactMode
from connectors.bigquery.modes.merge import MergeMode
from connectors.bigquery.modes.mode import Mode, TableWriter, WriterFactory

CHOICES: Final[Mapping[str, type[Mode]]] = MappingProxyType({mode.name: mode for mode in (MergeMode, CompactMode)})


class AutoMode(MergeMode):
    """Writes each table as the mode does that was chosen for it. Both keep the same rows, by the same statements."""

    name = "auto"
    doc = (
        "merge or compact, chosen once for each table by its size and growth, and kept in its label "
        "kafka-connect-dedup-mode."
    )
    chooses = True

    def table_writer(self, writers: WriterFactory) -> TableWriter:
        """Return what writes each table by its own mode."""
        return writers.by_table({name: mode(self._config).table_writer(writers) for name, mode in CHOICES.items()})

    def of_table(self, choice: str) -> Mode:
        """Return the mode that was chosen for a table."""
        return CHOICES[choice](self._config)
