"""Sends numbered rows at a pace: the connectors and their task."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from connect.api.config import ConnectorConfig
from connect.api.connector import SourceContext
from connect.api.errors import ConnectError
from connect.api.optional.given_offsets import require_usable, whole_number
from connect.api.records import Batch, SourcePosition
from connect.lib.deadline import Deadline
from connectors.samples.numbered.config import NumberedConfig, SchemaSourceConfig, VerifiableSourceConfig
from connectors.samples.numbered.rows import MakesRows, SchemaRows, VerifiableRows

_TASK: Final = "task.id"
_ID, _NUMBER = "id", "seqno"
_ROWS_AT_ONCE: Final = 500
_PAUSE_S: Final = 0.05


class NumberedConnector:
    """Plans tasks: all are alike but for their number."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, NumberedConfig)
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """Do nothing: rows are made up."""

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the configuration with each task's number."""
        return [{**self._config.originals, _TASK: str(number)} for number in range(max_tasks)]

    def task(self, config: Mapping[str, str]) -> NumberedTask:
        """Return a task that is not open yet."""
        return NumberedTask(type(self._config).parse(config), int(config[_TASK]))

    def alter_offsets(self, positions: Sequence[SourcePosition]) -> bool:
        """Refuse offsets that name no row."""
        require_usable(positions, lambda _, offset: {_NUMBER: whole_number(offset.get(_NUMBER, 0))})
        return True


class NumberedTask:
    """Makes the rows of one task, on from the one behind the row that was stored."""

    def __init__(self, config: NumberedConfig, number: int) -> None:
        self._config, self._task = config, number
        self._next = self._made = 0
        self._begun_s = time.monotonic()

    def open(self, ctx: SourceContext) -> None:
        """Go on behind the row that is stored."""
        self._ctx = ctx
        self._rows = _rows_of(self._config, ctx.connector, self._task)
        stored = ctx.stored_offset({_ID: self._task})
        number = -1 if stored is None else stored.get(_NUMBER)
        if not isinstance(number, int) or number < -1:
            raise ConnectError(
                f"The offset holds a {_NUMBER} of type {type(number).__name__} that is no whole number from 0.",
                fix=f'Set it as {{"{_NUMBER}": 0}}, or reset it.',
            )
        self._next, self._made, self._begun_s = number + 1, 0, time.monotonic()

    def poll(self, deadline: Deadline) -> Sequence[Batch] | None:
        """Return the rows whose time has come, or wait for it."""
        due = _ROWS_AT_ONCE
        if self._config.throughput >= 0:
            due = min(due, int((time.monotonic() - self._begun_s) * self._config.throughput) - self._made)
        most = self._config.most_rows
        if most is not None:
            due = min(due, most - self._made)
            if self._made >= most:
                self._ctx.explain(f"All {most} rows of num.messages are made.")
        if due < 1:
            deadline.wait(_PAUSE_S)
            return None
        numbers = range(self._next, self._next + due)
        batches, last = [], self._next - 1
        for batch in self._rows.batches(numbers, self._made):
            last += len(batch)
            batches.append(replace(batch, position=SourcePosition({_ID: self._task}, {_NUMBER: last})))
        self._next, self._made = self._next + due, self._made + due
        return batches

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Do nothing: rows are made up."""

    def close(self) -> None:
        """Do nothing: nothing is open."""


def _rows_of(config: NumberedConfig, connector: str, task: int) -> MakesRows:
    if isinstance(config, VerifiableSourceConfig):
        return VerifiableRows(config, connector, task)
    assert isinstance(config, SchemaSourceConfig)
    return SchemaRows(config, task)
