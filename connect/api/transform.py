"""Defines transforms, which take a batch and return batches, and predicates. Neither does any I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from connect.api.records import Batch

if TYPE_CHECKING:
    import pyarrow as pa


class Transform(Protocol):
    """Changes, splits or drops rows. It must keep the order of rows and every batch's `position` and `consumed`.

    RejectedRowsError names rows that cannot be transformed; the caller goes on without them. The others are given once
    more then, and also after what is read or sent with them had to be tried again, so nothing may hang on how often.
    """

    def apply(self, batch: Batch) -> Sequence[Batch]:
        """Return the changed rows: several batches if topics or schemas differ, none if every row was dropped."""


class Predicate(Protocol):
    """Says for which rows a transform applies."""

    def test(self, batch: Batch) -> pa.BooleanArray:
        """Return one truth value per row of the batch."""
