"""Makes the errors of refused records, in words for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connect.api.errors import ConnectError, SchemaError
from connect.api.records import Batch
from connectors.bigquery.dedup.rules import DedupRules
from connectors.bigquery.rows.paths import Path, place_of

if TYPE_CHECKING:
    import pyarrow as pa


def in_table(table: str, error: SchemaError) -> SchemaError:
    """Return the same error, with the name of its table."""
    return type(error)(f"Table {table}: {error.message}", key=error.key, fix=error.fix)


def no_key(batch: Batch, row: int, path: Path, *, is_final: bool) -> ConnectError:
    what = "tombstone" if batch.values.arrow().is_null()[row].as_py() else "record"
    fix = "Set dedup.null.key=dlq to treat such records as bad ones."
    if what == "tombstone":
        fix = f"Set dedup.delete=ignore, or give its key a field {path}. {fix}"
    message = f"{place_of(batch, row)}: the {what} has no {path}, which dedup.fields names."
    return ConnectError(message, key="dedup.null.key", fix=fix if is_final else None)


def no_order(batch: Batch, row: int, rules: DedupRules) -> ConnectError:
    named = ", ".join(map(str, rules.order_by))
    return ConnectError(
        f"{place_of(batch, row)}: the tombstone has no {named}, so nothing says which records it comes after where "
        "they are not merged in the order of their log.",
        key="dedup.order.by",
        fix="Set dedup.order.by=__timestamp, give its key such a field, or set dedup.delete=ignore.",
    )


def no_value(batch: Batch, row: int) -> ConnectError:
    return ConnectError(
        f"{place_of(batch, row)}: the record has a null value, and where records are added there is no row that it "
        "could delete.",
        key="dedup.delete",
        fix="Set dedup.delete=ignore to leave such records out, or dedup.fields with dedup.mode=merge.",
    )


def late_rows(batch: Batch, rows: pa.Array) -> dict[int, Exception]:
    return {
        row: ConnectError(
            f"{place_of(batch, row)}: the record is older than dedup.window.", key="dedup.late",
            fix="Set dedup.late=merge to search for its row all the same.",
        )
        for row in rows.to_pylist()
    }  # fmt: skip
