"""Transforms in order, each for the rows its predicate selects. Pure: the caller says what becomes of bad rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from connect.api.records import Batch
from connect.api.transform import Predicate, Transform
from connect.runtime.isolate import isolate

if TYPE_CHECKING:
    import pyarrow as pa

Reject = Callable[[str, Batch, Mapping[int, Exception]], None]
"""Called with the transform's class name, the batch it was given, and the bad rows in it."""


@dataclass(frozen=True, slots=True)
class Link:
    """One transform of a chain; `negate` turns the predicate's answer round."""

    name: str
    transform: Transform
    predicate: Predicate | None = None
    negate: bool = False

    def apply(self, batch: Batch) -> list[Batch]:
        """The batch with the selected rows transformed, the others as they were, in order."""
        if self.predicate is None:
            return list(self.transform.apply(batch))
        done: list[Batch] = []
        for start, stop, selected in _runs(self.predicate.test(batch)):
            part = batch if stop - start == len(batch) else batch.slice(start, stop)
            done.extend(self.transform.apply(part) if selected != self.negate else [part])
        return done


def apply_chain(links: Sequence[Link], batch: Batch, reject: Reject) -> list[Batch]:
    """The batch after all transforms; empty when every row was dropped or rejected."""
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


def _runs(mask: pa.BooleanArray) -> list[tuple[int, int, bool]]:
    """Consecutive equal answers as (start, stop, answer)."""
    answers = mask.to_pylist()
    runs: list[tuple[int, int, bool]] = []
    for i, answer in enumerate(answers):
        if runs and runs[-1][2] == bool(answer):
            runs[-1] = (runs[-1][0], i + 1, bool(answer))
        else:
            runs.append((i, i + 1, bool(answer)))
    return runs
