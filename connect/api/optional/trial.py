"""A target of a sink beside its real one, for a trial: rows are written there, read back, counted and removed.

A sink connector that can do this offers `TrialSink` beside `Connector`. `connect poc` then runs it and kills it without
writing a byte to where the user's rows are. A source that keeps something in what it reads says so (`KeepsAtSource`),
and is not run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol, runtime_checkable

from connect.lib.deadline import Deadline


class TrialTarget(Protocol):
    """Stands for a folder, dataset or file of a trial's own. It is owned by one thread; nothing is reached before the
    first call."""

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the connector's keys with other values than in its configuration: with these it writes here alone."""

    @property
    def is_once(self) -> bool:
        """Return True if the configuration promises that each record is here once, whatever is killed meanwhile."""

    @property
    def merges(self) -> bool:
        """Return True if several records may be one row, as of the same key: fewer rows than records are no loss."""

    def make(self, deadline: Deadline) -> None:
        """Make what the sink expects to find, such as a dataset.

        ConnectError: a right is missing, here or, as far as reading tells, on the real target.
        """

    def rows(self, deadline: Deadline) -> Iterator[bytes]:
        """Yield every row that is here, as bytes that are equal for equal rows.

        What only tells when a row was written, or by whom, is left out. ConnectError: rows of this configuration cannot
        be told apart.
        """

    def remove(self, deadline: Deadline) -> None:
        """Remove all that is here; no error where there is nothing."""


@runtime_checkable
class KeepsAtSource(Protocol):
    """A source connector that may keep something in what it reads; a trial would take that from its owner. Optional."""

    @property
    def kept_at_source(self) -> str | None:
        """Return what this configuration makes or moves on there, such as `replication slot x`; None: it only reads."""


@runtime_checkable
class TrialSink(Protocol):
    """A sink connector whose target can be had once more. Optional."""

    def trial_target(self, name: str) -> TrialTarget:
        """Return a target apart, the same one for the same name: of letters, digits and '-', unlike any of the
        user's."""
