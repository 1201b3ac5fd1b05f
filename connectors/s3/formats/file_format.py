"""What a file format is to this sink: columns of a batch in, an encoded body out. No file names, no offsets, no S3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from connect.api.errors import SchemaError
from connect.api.records import Batch
from connectors.s3.formats.inferred import narrowed, require_widening

if TYPE_CHECKING:
    import pyarrow as pa


class FileSchema(Protocol):
    """What all rows of a file share: a `pa.Schema`, or a format's own kind, which has these two as well."""

    def equals(self, other: Any) -> bool:
        """Rows of both may be in one file."""

    def merged(self, new: Any) -> Any:
        """The schema that holds the rows of both. SchemaError: there is none."""

    def narrowed(self, rows: Any) -> tuple[Any, Any]:
        """Some of the rows, and the schema that they need."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object of an ended file: what its name ends with, its media type, its bytes."""

    extension: str
    content_type: str
    data: pa.Buffer


@dataclass(frozen=True, slots=True)
class Prepared:
    """The rows of a batch in the form that a format writes: a record batch, or one array of bytes per line.

    `valid` is false where the value is null; None: no value is null. `schema` None: files of the format have none.
    `is_inferred`: the values are schemaless, so the schema says only what this batch happened to hold. `is_sparse`: a
    file leaves out the fields to which none of its rows gives a type. `widens`: files may take a wider schema.
    """

    rows: pa.RecordBatch | pa.Array
    valid: pa.BooleanArray | None
    schema: Any = None
    is_inferred: bool = False
    is_sparse: bool = False
    widens: bool = False

    @property
    def may_widen(self) -> bool:
        """One file may hold these rows and others of another schema."""
        return self.is_inferred or self.widens

    def narrowed(self, start: int, stop: int) -> Prepared:
        """Rows start..stop-1 of schemaless ones, with no more schema than they need."""
        import pyarrow as pa

        rows = self.rows.slice(start, stop - start)
        if self.schema is not None and not isinstance(self.schema, pa.Schema):
            rows, schema = self.schema.narrowed(rows)
            return replace(self, rows=rows, schema=schema)
        rows = narrowed(rows)
        return replace(self, rows=rows, schema=rows.schema)


class Body(Protocol):
    """The encoded rows of an ended file."""

    @property
    def size_bytes(self) -> int:
        """Of what is uploaded."""

    def without_first(self, rows: int) -> Body:
        """The same file without its first rows; some must remain."""


class ReadableBody(Body, Protocol):
    """Rows that can be read again, as they can of every file that is one object."""

    @property
    def data(self) -> pa.Buffer:
        """What is uploaded."""

    def pieces(self) -> Iterator[tuple[Any, Any]]:
        """What was written, in order: rows and the schema they are in now."""


class Encoder(Protocol):
    """Encodes the rows of one open file as they come."""

    @property
    def size_bytes(self) -> int:
        """Memory held: what is encoded, and what waits to be."""

    def write(self, rows: pa.RecordBatch | pa.Array, schema: Any) -> None:
        """Append rows. `schema` holds all rows so far, see `merged_schema`."""

    def can_become(self, schema: Any) -> bool:
        """The rows so far lose nothing in this schema, which `merged_schema` made of theirs."""

    def end(self) -> Body:
        """End the file; the encoder is used no more."""


class Format(Protocol):
    """A file format with its settings."""

    @property
    def extension(self) -> str:
        """What a file name ends with, the dot and the compression included."""

    @property
    def content_type(self) -> str:
        """The media type of the objects."""

    def prepare(self, batch: Batch) -> Prepared:
        """The rows of a batch, which has some.

        RejectedRowsError: the format cannot hold these. SchemaError: it cannot hold all of them together; those that it
        cannot hold at all fail alone.
        """

    def encoder(self) -> Encoder:
        """An empty file."""

    def objects(self, body: Any) -> Sequence[StoredObject]:
        """The objects that a file becomes, in the order in which they are created; the last says that all are there."""


class Merger(Protocol):
    """Joins objects of one format as they are, without a look at their values."""

    def add(self, data: bytes) -> bool:
        """Append the rows of an object; False, and nothing is appended: it has another schema than those before."""

    def end(self) -> Any:
        """The object that has all rows, as bytes; the merger is used no more."""


def merged_schema(current: Any, new: Any, *, may_widen: bool) -> Any:
    """The schema that holds the rows of both without loss. SchemaError when there is none: then a new file begins.

    `may_widen`: a field that is new is null in old rows, a null may become any type, a number a wider one. Else both
    must be equal.
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
    """The Arrow schema of rows that are a record batch."""
    import pyarrow as pa

    return schema if isinstance(schema, pa.Schema) else schema.arrow


def fit(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The rows in a schema that `merged_schema` made of theirs and others'."""
    import pyarrow as pa

    if batch.schema.equals(schema):
        return batch
    columns = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        columns.append(pa.nulls(batch.num_rows, field.type) if index < 0 else batch.column(index).cast(field.type))
    return pa.record_batch(columns, schema=schema)


def joined(parts: Sequence[pa.RecordBatch | pa.Array], schema: Any) -> pa.RecordBatch | pa.Array:
    """All rows in one piece."""
    import pyarrow as pa

    if isinstance(parts[0], pa.Array):
        return pa.concat_arrays(parts)
    return pa.concat_batches([fit(part, arrow_of(schema)) for part in parts])


def recut(encoder: Encoder, bodies: Sequence[ReadableBody], rows: int | None) -> Body:
    """The first rows of files that follow each other, all where `rows` is None. SchemaError: one cannot hold them."""
    found: list[Any] = []
    schema: Any = None
    for piece, own in (piece for body in bodies for piece in body.pieces()):
        part = piece if rows is None else piece.slice(0, rows)
        rows = None if rows is None else rows - len(part)
        schema = merged_schema(schema, own, may_widen=True)
        found.append(part)
    encoder.write(joined(found, schema), schema)
    return encoder.end()
