"""Defines the interface of a file format: it takes the columns of a batch and returns an encoded body.

The module knows no file names, no offsets and no S3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from connect.api.errors import SchemaError
from connect.api.records import Batch
from connectors.s3.formats.inferred import narrowed, require_widening

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class StoredObject:
    """Holds one object of an ended file: the extension of its name, its media type and its bytes."""

    extension: str
    content_type: str
    data: pa.Buffer


@dataclass(frozen=True, slots=True)
class Prepared:
    """Holds the rows of a batch as a format writes them: a record batch, or one array with the bytes of each line.

    `valid` is False for rows whose value is null, or None if no value is null. `schema` is None if files of the format
    have none. With `is_inferred` the values have no schema, and `schema` was inferred from this batch alone. With
    `is_sparse` a file leaves out fields to which none of its rows gives a type. With `widens` files may take a wider
    schema.
    """

    rows: pa.RecordBatch | pa.Array
    valid: pa.BooleanArray | None
    schema: Any = None
    is_inferred: bool = False
    is_sparse: bool = False
    widens: bool = False

    @property
    def may_widen(self) -> bool:
        """Return True if one file may hold these rows and others of another schema."""
        return self.is_inferred or self.widens

    def narrowed(self, start: int, stop: int) -> Prepared:
        """Return rows start..stop-1, which came without a schema, with the schema that is inferred from these alone."""
        import pyarrow as pa

        rows = self.rows.slice(start, stop - start)
        if self.schema is not None and not isinstance(self.schema, pa.Schema):
            rows, schema = self.schema.narrowed(rows)
            return replace(self, rows=rows, schema=schema)
        rows = narrowed(rows)
        return replace(self, rows=rows, schema=rows.schema)


class Body(Protocol):
    """Holds the encoded rows of an ended file."""

    @property
    def size_bytes(self) -> int:
        """Return the number of bytes to upload."""

    def without_first(self, rows: int) -> Body:
        """Return the same file without its first rows; some must remain."""

    def sparse(self) -> Body:
        """Return the same file. Once it is cut, it leaves out fields to which none of its rows gives a type."""


class ReadableBody(Body, Protocol):
    """Holds rows that can be read again. Each file that is one object has such a body."""

    @property
    def data(self) -> pa.Buffer:
        """Return the bytes to upload."""

    def pieces(self) -> Iterator[tuple[Any, Any]]:
        """Yield the written rows in order, in pieces, each with the schema that it has now."""


class Encoder(Protocol):
    """Encodes the rows of one open file as they come."""

    @property
    def size_bytes(self) -> int:
        """Return the bytes of memory of rows that are encoded, and of those that wait."""

    def write(self, rows: pa.RecordBatch | pa.Array, schema: Any) -> None:
        """Append rows. `schema` is the merged schema of all rows so far, see `merged_schema`."""

    def can_become(self, schema: Any) -> bool:
        """Return True if the rows so far can be written in this merged schema without loss."""

    def end(self) -> Body:
        """End the file and return it. The encoder must not be used afterwards."""


class Format(Protocol):
    """Makes files of one format by its settings. Formats are subclasses, or have the same methods."""

    @property
    def extension(self) -> str:
        """Return the extension of file names, with the dot and that of the compression."""

    @property
    def content_type(self) -> str:
        """Return the media type of the objects."""

    def prepare(self, batch: Batch) -> Prepared:
        """Return the rows of a batch, which is not empty, in the form that the format writes.

        RejectedRowsError: the format cannot hold the rows that it names. SchemaError: it cannot hold all rows together;
        smaller batches show which rows it cannot hold at all.
        """

    def encoder(self) -> Encoder:
        """Return the encoder of an empty file."""

    def objects(self, body: Any) -> Sequence[StoredObject]:
        """Return the objects of a file in the order of their creation: one, unless a format has several.

        If the last one exists, all of them do.
        """
        return (StoredObject(self.extension, self.content_type, body.data),)


class Merger(Protocol):
    """Joins objects of one format without changing their values."""

    def add(self, data: bytes) -> bool:
        """Append the rows of an object, and return True.

        Return False, and append nothing, if it has another schema than the objects before.
        """

    def end(self) -> Any:
        """Return the bytes of an object with all rows. The merger must not be used afterwards."""


def merged_schema(current: Any, new: Any, *, may_widen: bool) -> Any:
    """Return the schema that holds the rows of both without loss.

    With `may_widen` a new field is null in old rows, a null may become any type, and a number a wider one; else both
    schemas must be equal. SchemaError: no such schema exists, so that a new file has to begin.
    """
    import pyarrow as pa

    if new is None:
        return current
    if current is None or current.equals(new):
        return new
    if not isinstance(current, pa.Schema):
        return current.merged(new)
    if not may_widen:
        raise SchemaError("The schema changed.")
    try:
        merged = pa.unify_schemas([current, new], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise SchemaError(f"The schema changed: {error}") from error
    require_widening(current, merged)
    require_widening(new, merged)
    return merged


def arrow_of(schema: Any) -> pa.Schema:
    """Return the Arrow schema for a schema of rows that are a record batch."""
    import pyarrow as pa

    return schema if isinstance(schema, pa.Schema) else schema.arrow


def fit(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows in a schema that `merged_schema` made of their own and others."""
    import pyarrow as pa

    if batch.schema.equals(schema):
        return batch
    columns = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        columns.append(pa.nulls(batch.num_rows, field.type) if index < 0 else batch.column(index).cast(field.type))
    return pa.record_batch(columns, schema=schema)


def joined(parts: Sequence[pa.RecordBatch | pa.Array], schema: Any) -> pa.RecordBatch | pa.Array:
    """Return all rows in one piece."""
    import pyarrow as pa

    if isinstance(parts[0], pa.Array):
        return pa.concat_arrays(parts)
    return pa.concat_batches([fit(part, arrow_of(schema)) for part in parts])


def sparse_piece(rows: Any, schema: Any) -> tuple[Any, Any]:
    """Return rows without the fields to which none of them gives a type, and their schema."""
    import pyarrow as pa

    if not isinstance(schema, pa.Schema):
        return rows, schema
    part = narrowed(rows)
    return part, part.schema


def recut(encoder: Encoder, bodies: Sequence[ReadableBody], rows: int | None, *, is_sparse: bool) -> Body:
    """Encode the first rows of files that follow each other, or all rows if `rows` is None.

    With `is_sparse` fields to which none of these rows gives a type are left out. SchemaError: one file cannot hold the
    rows.
    """
    found: list[Any] = []
    schema: Any = None
    for piece, own in (piece for body in bodies for piece in body.pieces()):
        part = piece if rows is None else piece.slice(0, rows)
        rows = None if rows is None else rows - len(part)
        kept, kept_schema = sparse_piece(part, own) if is_sparse else (part, own)
        schema = merged_schema(schema, kept_schema, may_widen=True)
        found.append(kept)
    encoder.write(joined(found, schema), schema)
    return encoder.end()
