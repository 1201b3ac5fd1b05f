"""Fills the staging tables of one connector, marks them as merged or refused, finds them again, and drops them.

Each run of a task fills tables of its own. Their names depend on the task's number and on the run, so that no other
task drops one, or takes it for a table that itself has filled with the same batch.
"""

from __future__ import annotations

import math
import secrets
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from connectors.bigquery.dedup.sealed_batch import SealedBatch
from connectors.bigquery.merge.staging import (
    CONNECTOR_LABEL,
    EXPIRES_AFTER_S,
    STATE_LABEL,
    TASK_LABEL,
    StagedFacts,
    batch_id,
    connector_label,
    parquet_of,
    staging_name,
    target_of,
)
from connectors.bigquery.rows.table_schema import by_name
from connectors.bigquery.tables.table_columns import staging_columns
from connectors.bigquery.warehouse.errors import RefusedJobError
from connectors.bigquery.warehouse.table_facts import NewTable
from connectors.bigquery.warehouse.warehouse import Warehouse


class State(StrEnum):
    """Says what happened to a staging table. TARGET_GONE: the table that its rows are for does not exist."""

    STAGED = "staged"
    MERGED = "merged"
    REFUSED = "refused"
    TARGET_GONE = "target-gone"


@dataclass(frozen=True, slots=True)
class Role:
    """Names a task of a connector, and tells which tables it merges. `suffix` is part of its staging tables' names."""

    connector: str
    task: int
    tasks: int
    suffix: str

    @property
    def labels(self) -> dict[str, str]:
        """Return the labels that all staging tables of the connector have."""
        return {CONNECTOR_LABEL: connector_label(self.connector)}

    def merging_task(self, target: str) -> int:
        """Return the number of the task that merges the table."""
        return zlib.crc32(target.encode()) % self.tasks

    def merges(self, target: str) -> bool:
        """Return True if this task is the one that merges the table."""
        return self.merging_task(target) == self.task


@dataclass(frozen=True, slots=True)
class Staged:
    """Names a staging table that is filled, with its facts."""

    name: str
    facts: StagedFacts


@dataclass(frozen=True, slots=True)
class Found:
    """Holds the state of a staging table. `why` has BigQuery's words if the merge was refused."""

    state: State | None
    why: str


class StagingTables:
    """Fills, marks and drops staging tables. Several threads of a task use it, each for another staging table."""

    def __init__(self, warehouse: Warehouse, role: Role) -> None:
        self._warehouse = warehouse
        self._role = role
        self._owner = f"{role.connector} {role.task} {secrets.token_hex(8)}"
        self._listing = threading.Lock()
        self._listed: Mapping[str, Sequence[str]] = {}
        self._listed_at_s = -math.inf

    def sweep(self) -> None:
        """Drop the staging tables that an earlier run of this task left. Their rows come again."""
        self._sweep({**self._role.labels, TASK_LABEL: str(self._role.task)})

    def sweep_all(self) -> None:
        """Drop the staging tables of all tasks of the connector. Called by a mode that stages and merges nothing."""
        self._sweep(self._role.labels)

    def _sweep(self, wanted: Mapping[str, str]) -> None:
        for name, labels in self._warehouse.labelled(wanted):
            if target_of(name, self._role.suffix) is not None and labels:
                self._warehouse.drop(name)

    def fill(self, batch: SealedBatch) -> Staged:
        """Put the rows of a batch into a staging table. Raise RefusedJobError if BigQuery does not take them."""
        content = parquet_of(batch.tables)
        batch_name = batch_id(self._owner, batch, memoryview(content))
        name = staging_name(batch.target, self._role.suffix, batch_name)
        facts = StagedFacts.of(batch)
        known = by_name(batch.columns)
        columns = staging_columns(tuple(known[name.lower()] for name in facts.columns), clears=facts.clears is not None)
        is_new = self._warehouse.create(
            NewTable(
                name,
                columns,
                labels={**self._role.labels, TASK_LABEL: str(self._role.task)},
                description=facts.text(),
                expires_after_s=EXPIRES_AFTER_S,
            )
        )
        with self.dropped_if_refused(name):
            self._warehouse.fill(name, columns, content, f"kafka-connect-stage-{batch_name}", is_new=is_new)
        return Staged(name, facts)

    @contextmanager
    def dropped_if_refused(self, name: str) -> Iterator[None]:
        """Drop a staging table if the body raises RefusedJobError, and raise that error again."""
        try:
            yield
        except RefusedJobError:
            self._warehouse.drop(name)
            raise

    def drop(self, name: str) -> None:
        """Drop a staging table, if it is still there."""
        self._warehouse.drop(name)

    def mark(self, name: str, state: State, text: str | None = None) -> None:
        """Give a staging table the label of a state. `text` is its new description; None: the old one stays."""
        self._warehouse.label(name, {STATE_LABEL: state}, description=text)

    def look(self, name: str) -> Found | None:
        """Return the state of a staging table; None if it is gone."""
        found = self._warehouse.table(name)
        return None if found is None else Found(_state(found.labels), found.description)

    def waiting(self, within_s: float = 0.0) -> Mapping[str, Sequence[str]]:
        """Return the staging tables of all tasks that wait for their merge, by the table that their rows are for.

        A list that is at most `within_s` seconds old is returned again, so tables may have been merged or staged since.
        A new list needs all tables of the dataset, page by page, as BigQuery does not filter them by labels.
        """
        with self._listing:
            if time.monotonic() - self._listed_at_s >= within_s:
                began_s, found = time.monotonic(), defaultdict[str, list[str]](list)
                for name, labels in self._warehouse.labelled(self._role.labels):
                    target = target_of(name, self._role.suffix)
                    if target is not None and _state(labels) is State.STAGED:
                        found[target].append(name)
                self._listed, self._listed_at_s = dict(found), began_s
            return self._listed

    def staged(self, name: str) -> Staged | None:
        """Return a staging table if it still waits for its merge; None if it is merged or dropped."""
        found = self._warehouse.table(name)
        if found is None or _state(found.labels) is not State.STAGED:
            return None
        return Staged(name, StagedFacts.parse(found.description, found.columns))


def _state(labels: Mapping[str, str]) -> State | None:
    text = labels.get(STATE_LABEL)
    return State(text) if text in set(State) else None
