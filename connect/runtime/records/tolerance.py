"""Decides what becomes of a bad row by the keys `errors.*`: it is logged, counted, dead-lettered, skipped, or fatal."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from connect.api.errors import ConfigError, ConnectError
from connect.runtime.records.error_limits import ErrorLimits
from connect.runtime.settings.connector_config import CommonConnectorConfig
from connect.runtime.task.task_metrics import TaskFigures

log = logging.getLogger(__name__)
_KEY: Final = "errors.tolerance"
_FIX: Final = "Mend the record, or set errors.tolerance=all with errors.deadletterqueue.topic.name to set it aside."


class Stage(StrEnum):
    """Says at which step a row failed, as in a dead letter (org.apache.kafka.connect.runtime.errors.Stage)."""

    TASK_PUT = "TASK_PUT"
    TASK_POLL = "TASK_POLL"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"
    KAFKA_CONSUME = "KAFKA_CONSUME"
    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    TRANSFORMATION = "TRANSFORMATION"


@dataclass(frozen=True, slots=True)
class BadRow:
    """Describes one bad row: the step at which it failed and, for a sink, its partition and offset.

    A source's row has its topic; where dead letters are kept, `row` is its index in the polled batch.
    """

    stage: Stage
    component: str
    error: Exception
    topic: str
    partition: int | None = None
    offset: int | None = None
    row: int | None = None

    @property
    def place(self) -> str:
        """Return the row's place as people write it."""
        return self.topic if self.partition is None else f"{self.topic}-{self.partition}@{self.offset}"


class ToleranceExceededError(ConnectError):
    """Ends the task at a bad row, as `errors.tolerance=none` asks. A restart meets the same row again.

    Where a wrong configuration made the row bad, key and fix are those of that error: to skip such rows is no fix.
    """

    def __init__(self, row: BadRow) -> None:
        wrong = row.error if isinstance(row.error, ConfigError) else None
        super().__init__(
            f"Tolerance exceeded in error handler: {row.stage} by {row.component} failed for {row.place}: "
            f"{type(row.error).__name__}: {row.error}",
            key=_KEY if wrong is None else wrong.key,
            fix=_FIX if wrong is None else None,
        )
        self.row = row


class LimitExceededError(ConnectError):
    """Ends the task after more bad rows than `errors.tolerance.limit.*` allow: more is wrong than a few rows."""

    def __init__(self, what: str, row: BadRow) -> None:
        super().__init__(
            f"{what} The last: {row.stage} by {row.component} failed for {row.place}: "
            f"{type(row.error).__name__}: {row.error}",
            key="errors.tolerance.limit.count",
            fix="Mend what makes rows bad and restart the task, which goes on where it stopped; or raise the limit.",
        )
        self.row = row


class Tolerance:
    """Decides about bad rows. Owned by the task thread.

    `dead_letter` takes bad rows where a dead-letter topic is set. The loop flushes the letters before it commits.
    """

    def __init__(
        self,
        config: CommonConnectorConfig,
        figures: TaskFigures,
        dead_letter: Callable[[list[BadRow]], None] | None,
        task: str = "",
    ) -> None:
        self._config = config
        self._figures = figures
        self._dead_letter = dead_letter
        self._task = task
        window_s = config.errors_limit_window_ms / 1000
        self._limits = ErrorLimits(config.errors_limit_count, config.errors_limit_ratio, window_s)

    def saw(self, rows: int) -> None:
        """Take note that so many rows were read and are about to be converted."""
        self._limits.saw(rows)

    def give_up(self, rows: list[BadRow]) -> None:
        """Log, count and dead-letter bad rows. ToleranceExceededError at the first one unless `errors.tolerance=all`.

        LimitExceededError: too many rows were bad of late. None of these is set aside, so the task must not go on.
        """
        self._figures.add("errors_total", len(rows))
        self._figures.set("last_error_epoch_s", time.time())
        self._log(rows)
        if self._config.tolerates_errors and (too_many := self._limits.refused(len(rows))) is not None:
            raise LimitExceededError(too_many, rows[-1])
        tolerated = rows if self._config.tolerates_errors else rows[:1]
        if self._dead_letter is not None:
            self._dead_letter(tolerated)
            self._figures.add("dead_letters_total", len(tolerated))
        if not self._config.tolerates_errors:
            raise ToleranceExceededError(rows[0])
        self._figures.add("skipped_total", len(rows))

    def _log(self, rows: list[BadRow]) -> None:
        """Log the rows in the words of Kafka Connect's LogReporter: the place of a record, and never what is in it."""
        if not self._config.errors_log_enable:
            return
        self._figures.add("errors_logged_total", len(rows))
        for row in rows:
            log.error(
                "Error encountered in task %s. Executing stage '%s' with class '%s'%s. %s: %s",
                self._task,
                row.stage,
                row.component,
                _which(row) if self._config.errors_log_include_messages else "",
                type(row.error).__name__,
                row.error,
            )


def _which(row: BadRow) -> str:
    if row.partition is None or row.offset is None:
        return f", where source record is {{topic='{row.topic}'}}"
    return f", where consumed record is {{topic='{row.topic}', partition={row.partition}, offset={row.offset}}}"


@dataclass(frozen=True, slots=True)
class Origin:
    """Says where the rows of a batch come from: for a sink by their offsets, for a source by their indices in the
    polled batch, where these are known."""

    topic: str
    partition: int | None = None
    offsets: list[int] | None = None
    polled: list[int] | None = None


def bad_rows(stage: Stage, component: str, origin: Origin, rows: Mapping[int, Exception]) -> list[BadRow]:
    """Return the bad rows of a batch, sorted by index."""
    offsets, polled = origin.offsets, origin.polled
    return [
        BadRow(
            stage,
            component,
            error,
            origin.topic,
            origin.partition,
            None if offsets is None else offsets[index],
            None if polled is None else polled[index],
        )
        for index, error in sorted(rows.items())
    ]
