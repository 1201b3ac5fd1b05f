"""Find which field of a row is to blame. Pure; asked about rows that failed alone, so it may take its time."""

from __future__ import annotations

from connect.api.errors import ConnectError, RejectedRowsError, SchemaError
from connect.api.records import Batch, Column


def refusal(batch: Batch, error: SchemaError) -> ConnectError:
    """Return what to raise for a type that cannot be written.

    A declared type is that of every row, an inferred one is that of some.
    """
    return error if batch.values.schema is None else RejectedRowsError(dict.fromkeys(range(len(batch)), error))


def located(error: SchemaError, batch: Batch) -> SchemaError:
    """Return the error of a batch of one row, with the path of the field that no Arrow type holds, if that is why."""
    if error.field or batch.values.schema is not None:
        return error
    return _failure(batch.values.rows()[0], "") or error


def _failure(value: object, path: str) -> SchemaError | None:
    try:
        Column.from_rows([value], None).arrow()
    except SchemaError as error:
        for name, member in value.items() if isinstance(value, dict) else ():
            inner = _failure(member, f"{path}.{name}".lstrip("."))
            if inner is not None:
                return inner
        return SchemaError(error.message, field=path, fix="Use JsonFormat, or change the field with a transform.")
    return None
