"""Applies transforms in order, each to the rows that its predicate selects. Pure: the caller deals with bad rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from connect.api.errors import ConnectError, RejectedRowsError
from connect.api.optional.dropping import DropsEveryRow
from connect.api.records import Batch
from connect.api.transform import Predicate, Transform
from connect.runtime.records.bad_row_search import isolate
from connect.runtime.records.row_numbers import with_row_numbers

if TYPE_CHECKING:
    import pyarrow as pa

Reject = Callable[[str, Batch, Mapping[int, Exception]], None]
"""Gets the class name of a transform, the batch that it was given, and the bad rows of that batch."""


class NonsenseError(ConnectError):
    """Says that a transform broke its contract, which is a defect of its code and not of a row."""

    def __init__(self, name: str, found: str, wanted: str) -> None:
        super().__init__(f"{name} gave {found} where it must give {wanted}.", fix="This is a defect of the transform.")


@dataclass(frozen=True, slots=True)
class Link:
    """Holds one transform of a chain. With `negate` it gets the rows that its predicate does not select."""

    name: str
    transform: Transform
    predicate: Predicate | None = None
    negate: bool = False

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the batch with the selected rows transformed, the others as they were, in order."""
        if self.predicate is None:
            return self._transformed(batch)
        selected = self._selected(self.predicate, batch)
        count = selected.true_count
        if count == 0:
            return [batch]
        if count == len(batch):
            return self._transformed(batch)
        return self._apply_to_some(batch, selected)

    def _transformed(self, batch: Batch) -> list[Batch]:
        """Return what the transform gives, held to its contract. NonsenseError says where it is not kept."""
        made: object = self.transform.apply(batch)
        if not isinstance(made, list | tuple):
            raise NonsenseError(self.name, f"a {type(made).__name__}", "a list of batches")
        for part in made:
            if not isinstance(part, Batch):
                raise NonsenseError(self.name, f"a list with a {type(part).__name__}", "a list of batches")
            if batch.consumed is not None and part.consumed is None:
                raise NonsenseError(self.name, "a batch without `consumed`", "where each row was read")
        return with_row_numbers(list(made), batch)

    def _selected(self, predicate: Predicate, batch: Batch) -> pa.BooleanArray:
        import pyarrow.compute as pc

        answers = pc.fill_null(predicate.test(batch), False)
        return pc.invert(answers) if self.negate else answers

    def _apply_to_some(self, batch: Batch, selected: pa.BooleanArray) -> list[Batch]:
        """Return the batch with the selected rows transformed run by run.

        The transform gets each row once: a function of the user's may remember what it has seen.
        """
        import pyarrow.compute as pc

        if isinstance(self.transform, DropsEveryRow):
            return [batch.take(pc.indices_nonzero(pc.invert(selected)).to_pylist())]
        done: list[Batch] = []
        bad: dict[int, Exception] = {}
        for start, stop, chosen_run in _runs(selected):
            part = batch.slice(start, stop)
            try:
                with _named_by(range(start, stop)):
                    done.extend(self._transformed(part) if chosen_run else [part])
            except RejectedRowsError as error:
                bad |= error.rows  # The caller takes all rows anew, so it has to hear of all runs at once.
        if bad:
            raise RejectedRowsError(bad)
        return done


def apply_chain(links: Sequence[Link], batch: Batch, reject: Reject) -> list[Batch]:
    """Return the batch after all transforms; empty when every row was dropped or rejected."""
    batches = [batch]
    for link in links:
        rejected = partial(reject, link.name)
        batches = [
            made
            for before in batches
            for results in isolate(before, link.apply, rejected)
            for made in results
            if len(made)
        ]
    return batches


@contextmanager
def _named_by(places: Sequence[int]) -> Iterator[None]:
    """Let a RejectedRowsError about a part of a batch name the rows by their `places` in the whole batch."""
    try:
        yield
    except RejectedRowsError as error:
        raise RejectedRowsError({places[i]: cause for i, cause in error.rows.items()}) from error


def _runs(selected: pa.BooleanArray) -> list[tuple[int, int, bool]]:
    """Return consecutive equal answers as (start, stop, answer)."""
    import pyarrow.compute as pc

    encoded = pc.run_end_encode(selected)
    ends = encoded.run_ends.to_pylist()
    return list(zip([0, *ends[:-1]], ends, encoded.values.to_pylist(), strict=True))
