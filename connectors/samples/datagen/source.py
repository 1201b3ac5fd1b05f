"""Makes up rows at a pace: Datagen's connector and task."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from typing import Final

from connect.api.config import ConnectorConfig
from connect.api.connector import SourceContext
from connect.api.errors import ConfigError, ConnectError
from connect.api.optional.given_offsets import require_usable, whole_number
from connect.api.records import Batch, SourcePosition
from connect.lib.deadline import Deadline
from connectors.samples.datagen.config import SCHEMAS, DatagenConfig
from connectors.samples.datagen.quick_starts import QuickStart
from connectors.samples.datagen.rows import MadeRows, headers_of, rows_of

TASK: Final = "task.id"
_GENERATION: Final = "task.generation"
_ITERATION: Final = "current.iteration"
_SEED: Final = "random.seed"
_MEMBERS: Final = (_ITERATION, _GENERATION, _SEED)


class DatagenConnector:
    """Makes tasks, which differ in their number alone."""

    def __init__(self, config: ConnectorConfig) -> None:
        assert isinstance(config, DatagenConfig)
        self._config = config

    def check(self, deadline: Deadline) -> None:
        """Read the schema's file. ConfigError: it is not there, or no schema."""
        del deadline
        _rows(self._config)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """Return the configuration with each task's number."""
        return [{**self._config.originals, TASK: str(number)} for number in range(max_tasks)]

    def task(self, config: Mapping[str, str]) -> DatagenTask:
        """Return a task that is not open yet."""
        return DatagenTask(DatagenConfig.parse(config), int(config[TASK]))

    def alter_offsets(self, positions: Sequence[SourcePosition]) -> bool:
        """Refuse offsets that name no iteration."""
        require_usable(positions, lambda _, offset: {name: whole_number(offset.get(name, 0)) for name in _MEMBERS})
        return True


class DatagenTask:
    """Makes the rows of one task, on from the iteration that was stored."""

    def __init__(self, config: DatagenConfig, number: int) -> None:
        self._config, self._number = config, number
        self._iteration = self._generation = self._seed = 0
        self._rows: MadeRows | None = None
        self._begun_s, self._made = time.monotonic(), 0

    polls_end_at_once: Final = True

    def open(self, ctx: SourceContext) -> None:
        """Go on behind the iteration that is stored, with the same seed."""
        self._ctx = ctx
        stored = ctx.stored_offset({TASK: self._number})
        self._iteration, generation, seed = _place(stored)
        self._generation = 0 if stored is None else generation + 1
        fresh = random.randrange(2**31) if self._config.seed is None else self._config.seed
        self._seed = fresh + self._number if seed is None else seed
        end = self._config.iterations if self._config.iterations > 0 else None
        self._rows = MadeRows(_rows(self._config), self._seed, end)
        self._begun_s, self._made = time.monotonic(), 0

    def poll(self, deadline: Deadline) -> Batch | None:
        """Return the rows whose time has come, or wait for it."""
        config = self._config
        left = config.iterations - self._iteration if config.iterations > 0 else None
        if left is not None and left <= 0:
            self._rows = None  # what is made of a block beside its rows is memory that nobody needs any more
            self._ctx.explain(f"All {config.iterations} rows of iterations are made.")
            deadline.wait(60.0)
            return None
        pause_s = max(config.max_interval_ms, 0) / 2000
        due = 1 << 20
        if pause_s:
            due = int((time.monotonic() - self._begun_s) / pause_s) - self._made
            if due < 1:
                deadline.wait(pause_s)
                return None
        assert self._rows is not None
        keys, values = self._rows.columns(self._iteration, due if left is None else min(due, left))
        headers = headers_of(self._generation, self._number, self._iteration, len(values))
        self._made += len(values)
        self._iteration += len(values)
        return Batch(config.topic, values, keys=keys, headers=headers, position=self._position())

    def stored(self, positions: Sequence[SourcePosition]) -> None:
        """Do nothing: rows are made up."""

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def _position(self) -> SourcePosition:
        offset = {_GENERATION: self._generation, _ITERATION: self._iteration, _SEED: self._seed}
        return SourcePosition({TASK: self._number}, offset)


def _rows(config: DatagenConfig) -> QuickStart:
    try:
        return rows_of(config)
    except ValueError as error:
        name = next(name for name in SCHEMAS if config.originals.get(name))
        raise ConfigError(f"{name}: {error}.", key=name, fix="Correct the schema.") from error


def _place(offset: Mapping[str, object] | None) -> tuple[int, int, int | None]:
    """Return iteration, generation and seed of an offset. ConnectError: they are no whole numbers."""
    found = [None if offset is None else offset.get(name) for name in _MEMBERS]
    wrong = next((one for one in found if one is not None and (not isinstance(one, int) or one < 0)), None)
    if wrong is not None:
        raise ConnectError(
            f"An offset of Datagen holds a {type(wrong).__name__} that is no whole number from 0.",
            fix=f'Set it as {{"{_ITERATION}": 0}} to begin again.',
        )
    iteration, generation, seed = (one if isinstance(one, int) else None for one in found)
    return iteration or 0, generation or 0, seed
