"""Defines functions as users write them."""

import pyarrow as pa
import pyarrow.compute as pc

from connect.api.errors import RejectedRowsError


def double(row):
    if row["n"] == 13:
        raise ValueError("thirteen")
    if row["n"] == 0:
        return None
    return {**row, "twice": row["n"] * 2}


def wrong_type(row):
    return {**row, "n": "text"}


def a_list(row):
    return [row]


def shout(batch):
    return batch.set_column(1, "t", pc.utf8_upper(batch.column("t")))


def add_column(batch):
    return batch.append_column("big", pc.cast(pc.greater(batch.column("n"), 10), pa.int8()))


def positive(batch):
    return pc.greater(batch.column("n"), 0)


def no_fifty(batch):
    rows = pc.indices_nonzero(pc.equal(batch.column("n"), 50)).to_pylist()
    if rows:
        raise RejectedRowsError({row: ValueError("fifty") for row in rows})
    return batch


def one_row(batch):
    return batch.slice(0, 1)


def nonsense(batch):
    return 7


def changes_in_place(row):
    row["tags"].append("new")
    row["in"]["x"] = 7
    return row if row["n"] % 2 else None
