"""Defines a target of a sink for trials, beside its real one: rows are written there, read back, counted and removed.

A sink connector that can do this offers `TrialSink` beside `Connector`. `connect poc` then runs and kills the sink
without writing a byte to where the user's rows are. A source that makes or moves something in the system that it reads
says so (`KeepsAtSource`), and is not run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol, runtime_checkable

from connect.lib.deadline import Deadline


class TrialTarget(Protocol):
    """Stands for a folder, dataset or file that belongs to a trial. It is owned by one thread, and connects with the
    first call.
    """

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the keys to change in the connector's configuration, with their values: with these it writes only
        here.
        """

    @property
    def is_once(self) -> bool:
        """Return True if the configuration promises that each record is here once, whatever is killed meanwhile."""

    @property
    def merges(self) -> bool:
        """Return True if several records may become one row, such as records of one key. Fewer rows than records are
        then no loss.
        """

    def make(self, deadline: Deadline) -> None:
        """Make what the sink expects to find, such as a dataset.

        ConnectError: a right is missing here, or on the real target, as far as one can tell by reading.
        """

    def rows(self, deadline: Deadline) -> Iterator[bytes]:
        """Yield every row that is here, as bytes that are equal for equal rows.

        Columns that only tell when or by whom a row was written are left out. ConnectError: under this configuration
        rows cannot be told apart.
        """

    def remove(self, deadline: Deadline) -> None:
        """Remove all that is here. It is no error if there is nothing."""


@runtime_checkable
class KeepsAtSource(Protocol):
    """A source connector may offer this if it may keep something in the system that it reads, such as a replication
    slot.

    A trial run would disturb the connector to which that belongs.
    """

    @property
    def kept_at_source(self) -> str | None:
        """Return the name of what this configuration makes or moves on there, such as `replication slot x`, or None if
        it only reads.
        """


def kept_by(connector: object) -> str | None:
    """Return what a connector makes or moves on where it reads. Return None if it only reads, or does not tell."""
    return connector.kept_at_source if isinstance(connector, KeepsAtSource) else None


@runtime_checkable
class TrialSink(Protocol):
    """A sink connector that can write to a second target for trials may offer this."""

    def trial_target(self, name: str) -> TrialTarget:
        """Return the trial target of a name; the same name gives the same target. The name has only letters, digits and
        '-', and no target of the user has it.
        """
