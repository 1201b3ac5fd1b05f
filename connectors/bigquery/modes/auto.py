"""Implements dedup.mode=auto: merge or compact, chosen once for each table by its costs and by the mode that has
written it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from connect.api.errors import ConfigProblem
from connectors.bigquery.dedup.side_tables import MODE_LABEL, REASON_LABEL
from connectors.bigquery.modes.compact import CompactMode
from connectors.bigquery.modes.merge import MergeMode
from connectors.bigquery.modes.mode import Mode, TableWriter, WriterFactory
from connectors.bigquery.modes.view_names import taken_names

CHOICES: Final[Mapping[str, type[Mode]]] = MappingProxyType({mode.name: mode for mode in (MergeMode, CompactMode)})
_COSTS: Final = re.compile(r"merge-(\d+)-compact-(\d+)")
"""The code of the reason of a choice by costs; the numbers are US cents a day."""
EMPTY: Final = "no-rows"
NAMED: Final = "named"
CHANGING: Final = "changing"
"""This reason stands in the label while a mode takes a table over from one that merged, before it adds a row."""
HAS_LOG: Final = "has-log"
MERGED: Final = "was-merged"
VIEW_TAKEN: Final = "view-taken"
_REASONS: Final[Mapping[str, str]] = {
    EMPTY: "it had no rows when that was chosen, and nothing was known of what would come",
    NAMED: "dedup.mode named it before",
    HAS_LOG: "it has a log",
    MERGED: "it has been merged so far",
    VIEW_TAKEN: "compact costs less, and its view would have the name of another topic's table (dedup.view.suffix)",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """Names a mode, and why it was chosen. `reason` is a code that fits into a label; empty: no label has one."""

    mode: str
    reason: str

    @property
    def why(self) -> str:
        """Return the reason in words."""
        costs = _COSTS.fullmatch(self.reason)
        if costs is not None:
            merge_usd, compact_usd = (int(cents) / 100 for cents in costs.groups())
            return f"a day of merges costs about {merge_usd:,.2f} USD, of compact {compact_usd:,.2f}"
        return _REASONS.get(self.reason, f"its label {MODE_LABEL} says so")

    @property
    def labels(self) -> Mapping[str, str]:
        """Return the labels that keep the choice in its table."""
        return {MODE_LABEL: self.mode, REASON_LABEL: self.reason}


def choice_in(labels: Mapping[str, str]) -> Choice | None:
    """Return the choice that a table's labels keep; None where they name neither mode."""
    mode = labels.get(MODE_LABEL, "")
    return Choice(mode, labels.get(REASON_LABEL, "")) if mode in CHOICES else None


def reason_of_costs(merge_usd: float, compact_usd: float) -> str:
    """Return the code of the reason of a choice by the costs of a day."""
    return f"merge-{round(merge_usd * 100)}-compact-{round(compact_usd * 100)}"


class AutoMode(MergeMode):
    """Writes each table by the mode that was chosen for it. Both modes keep the same rows, by the same statements."""

    name = "auto"
    doc = (
        "merge or compact, chosen once for each table by its size and growth, and kept in its label "
        "kafka-connect-dedup-mode."
    )
    chooses = True

    def notes(self) -> Iterator[ConfigProblem]:
        """Yield notes on tables for which compact is not chosen, as their views would have others' names."""
        yield from super().notes()
        for problem in taken_names(self._config.named_topics, self._config.table_names, self._config.view_suffix):
            yield ConfigProblem(problem.key, f"{problem.message} Until then dedup.mode=auto does not choose compact.")

    def table_writer(self, writers: WriterFactory) -> TableWriter:
        """Return a writer that writes each table by the mode that was chosen for it."""
        return writers.by_table({name: mode(self._config).table_writer(writers) for name, mode in CHOICES.items()})

    def of_table(self, choice: str) -> Mode:
        """Return the mode that was chosen for a table."""
        return CHOICES[choice](self._config)
