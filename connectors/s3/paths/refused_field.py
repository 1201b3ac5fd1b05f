"""Finds the field for which a row is refused. Pure. It is slow, and used only for single rows that failed."""

from __future__ import annotations

from connect.api.errors import ConnectError, RejectedRowsError, SchemaError
from connect.api.records import Batch, Column


def refusal(batch: Batch, error: SchemaError) -> ConnectError:
    """Return the error to raise for a type that cannot be written.

    With a declared schema all rows have the type, so all are refused. With an inferred one some rows may be good.
    """
    return error if batch.values.schema is None else RejectedRowsError(dict.fromkeys(range(len(batch)), error))


def located(error: SchemaError, batch: Batch) -> SchemaError:
    """Return the error of a batch of one row. If no Arrow type holds one of its fields, the error names the field."""
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
