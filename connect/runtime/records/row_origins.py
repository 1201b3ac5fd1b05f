"""Finds the polled row of each row behind the transforms, by a header. It is done for batches with bad rows alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from connect.api.errors import ConnectError
from connect.api.records import Batch, Header

ORIGIN: Final = "__connect.origin.row"
"""This header holds a row's index. Transforms have to keep headers; they may change every other part of a row."""


class OriginLostError(ConnectError):
    """Says that a transform made rows without the headers of the rows that it was given."""


def marked(batch: Batch) -> Batch:
    """Return the batch whose rows carry their index. It costs a Python object per row."""
    headers = batch.headers if batch.headers is not None else [()] * len(batch)
    return replace(batch, headers=[(*row, Header(ORIGIN, i)) for i, row in enumerate(headers)])


def origins(batch: Batch) -> list[int]:
    """Return for each row its index in the marked batch. Raise OriginLostError when a transform dropped the marks."""
    found: list[int] = []
    for row in batch.headers or [()] * len(batch):
        index = next((header.value for header in row if header.key == ORIGIN), None)
        if not isinstance(index, int):
            raise OriginLostError(f"A transform dropped the headers of rows for topic {batch.topic}.")
        found.append(index)
    return found


def unmarked(batch: Batch) -> Batch:
    """Return the batch without the marks in its headers."""
    kept: list[Sequence[Header]] = [
        tuple(header for header in row if header.key != ORIGIN) for row in batch.headers or ()
    ]
    return replace(batch, headers=kept if any(kept) else None)
