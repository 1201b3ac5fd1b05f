"""Makes separate files of values, keys and headers, with the same rows, each kind of file in its own format.

The module knows no S3. The rows are one record batch with a column per side until the encoder. Names and contents are
those of RecordViews and KeyValueHeaderRecordWriterProvider of Confluent's S3 sink.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from connect.api import schema as s
from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch, Column, Header
from connect.api.values.text import java_string
from connectors.s3.formats.file_format import Encoder, Format, Prepared, StoredObject, merged_schema, recut
from connectors.s3.formats.inferred import narrowed

if TYPE_CHECKING:
    import pyarrow as pa

VALUE: Final = "value"
_HEADERS: Final = s.array(s.struct({"key": s.STRING, "value": s.STRING}))


class Side(Protocol):
    """Gives a part of records that is written into separate files: the keys or the headers."""

    @property
    def name(self) -> str:
        """Return the name of its column. In formats that hold structs only, it is also the field with the values."""

    @property
    def suffix(self) -> str:
        """Return the text that the names of its files have before the extension."""

    def column(self, batch: Batch, *, enveloped: bool) -> Column:
        """Return one value per row, in a struct if `enveloped`. RejectedRowsError names the rows that have none."""


@dataclass(frozen=True, slots=True)
class KeySide:
    """Gives the keys of records."""

    name: str = "key"
    suffix: str = ".keys"

    def column(self, batch: Batch, *, enveloped: bool) -> Column:
        """Return the keys; a record without one is refused, as files of keys and values have the same rows."""
        keys = batch.keys if batch.keys is not None else Column.nulls(len(batch))
        missing = [row for row, there in enumerate(keys.arrow().is_valid().to_pylist()) if not there]
        _refuse(missing, "key", "store.kafka.keys")
        return _enveloped(keys, self.name, "RecordKey") if enveloped else keys


@dataclass(frozen=True, slots=True)
class HeaderSide:
    """Gives the headers of records, as a list of texts with their names."""

    name: str = "headers"
    suffix: str = ".headers"

    def column(self, batch: Batch, *, enveloped: bool) -> Column:
        """Return the headers; a record without any is refused, as Confluent's sink refuses it."""
        headers = batch.headers if batch.headers is not None else [()] * len(batch)
        _refuse([row for row, own in enumerate(headers) if not own], "header", "store.kafka.headers")
        column = Column.from_rows([[_text(header) for header in own] for own in headers], _HEADERS)
        return _enveloped(column, self.name, "RecordHeaders") if enveloped else column


@dataclass(frozen=True, slots=True)
class StoredSide:
    """Is a side with the format in which it is stored. `enveloped` is True if the format's files hold structs only."""

    side: Side
    format: Format
    enveloped: bool

    @property
    def extension(self) -> str:
        """Return the end of the names of its files."""
        return self.side.suffix + self.format.extension

    def prepare(self, batch: Batch) -> Prepared:
        """Return the column in the form that the format writes."""
        column = self.side.column(batch, enveloped=self.enveloped)
        return self.format.prepare(replace(batch, values=column, keys=None, headers=None))


@dataclass(frozen=True, slots=True)
class SideSchemas:
    """Holds the schemas of all sides by name. A side's schema is None if the format has no schema, or no row has a
    value.

    The schemas of the sides in `inferred` may be widened. `arrow` is the schema of rows with a column per side.
    """

    own: Mapping[str, Any]
    inferred: frozenset[str]
    arrow: pa.Schema

    def equals(self, other: SideSchemas) -> bool:
        """Return True if rows of both are in the same schemas."""
        return self.arrow.equals(other.arrow) and all(_equal(self.own[n], other.own[n]) for n in self.own)

    def merged(self, new: SideSchemas) -> SideSchemas:
        """Return schemas that take rows of these schemas and of `new`. SchemaError: no schema takes both."""
        import pyarrow as pa

        own = {
            name: merged_schema(schema, new.own[name], may_widen=name in self.inferred & new.inferred)
            for name, schema in self.own.items()
        }
        fields = []
        for field, known in zip(new.arrow, self.arrow, strict=True):
            found = known if pa.types.is_null(field.type) else field
            kind = own[field.name]
            fields.append(found.with_type(pa.struct(list(kind))) if isinstance(kind, pa.Schema) else found)
        return SideSchemas(own, self.inferred | new.inferred, pa.schema(fields))

    def narrowed(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, SideSchemas]:
        """Return the rows without the types that none of them needs, and their schemas."""
        import pyarrow as pa

        own, columns = dict(self.own), dict(zip(rows.schema.names, rows.columns, strict=True))
        for name in self.inferred & {n for n, schema in own.items() if isinstance(schema, pa.Schema)}:
            part = narrowed(pa.RecordBatch.from_struct_array(columns[name]))
            own[name] = part.schema
            columns[name] = _as_column(part, columns[name].is_null())
        rows = pa.record_batch(list(columns.values()), names=list(columns))
        return rows, SideSchemas(own, self.inferred, rows.schema)


@dataclass(frozen=True, slots=True)
class KeyHeaderFormat:
    """Makes files of values in one format, and files of keys and headers in others.

    `beside` has the sides in the order in which their objects are created; the values' object is created last. With
    `keeps_tombstones` records without a value are written, too, but have no row in the file of values.
    """

    values: Format
    beside: Sequence[StoredSide]
    keeps_tombstones: bool = False

    @property
    def extension(self) -> str:
        """Return the extension of the values' format."""
        return self.values.extension

    @property
    def content_type(self) -> str:
        """Return the media type of the values' format."""
        return self.values.content_type

    def prepare(self, batch: Batch) -> Prepared:
        """Return a record batch with a column per side."""
        import pyarrow as pa

        values = self.values.prepare(batch)
        if values.valid is not None and not self.keeps_tombstones:
            # Records without a value are not written, so that they need no key.
            kept = values.valid.to_numpy(zero_copy_only=False).nonzero()[0]
            try:
                there = self._whole(
                    batch.take(kept.tolist()), replace(values, rows=values.rows.take(pa.array(kept)), valid=None)
                )
            except RejectedRowsError as error:
                raise RejectedRowsError({int(kept[row]): why for row, why in error.rows.items()}) from error
            places = values.valid.cast(pa.int64()).to_numpy(zero_copy_only=False).cumsum() - 1
            mask = ~values.valid.to_numpy(zero_copy_only=False)
            return replace(there, rows=there.rows.take(pa.array(places, mask=mask)), valid=values.valid)
        return self._whole(batch, values)

    def _whole(self, batch: Batch, values: Prepared) -> Prepared:
        import pyarrow as pa

        if values.valid is not None and not values.valid.true_count:
            # The schema of values is made from the rows with a value alone.
            values = Prepared(pa.nulls(len(batch)), values.valid)
        prepared = {stored.side.name: stored.prepare(batch) for stored in self.beside} | {VALUE: values}
        columns = [_as_column(one.rows, _nulls(one)) for one in prepared.values()]
        rows = pa.record_batch(columns, names=list(prepared))
        inferred = frozenset(name for name, one in prepared.items() if one.is_inferred)
        schema = SideSchemas({name: one.schema for name, one in prepared.items()}, inferred, rows.schema)
        is_sparse = any(one.is_sparse for one in prepared.values())
        return Prepared(rows, None, schema, is_inferred=bool(inferred), is_sparse=is_sparse)

    def encoder(self) -> KeyHeaderEncoder:
        """Return the encoder of empty files."""
        return KeyHeaderEncoder({stored.side.name: stored.format for stored in self.beside} | {VALUE: self.values})

    def objects(self, body: KeyHeaderBody) -> Sequence[StoredObject]:
        """Return the objects of keys and headers, and then those of the values, if there are any."""
        found = [
            StoredObject(stored.extension, stored.format.content_type, body.bodies[stored.side.name].data)
            for stored in self.beside
        ]
        values = body.bodies.get(VALUE)
        return found if values is None else [*found, *self.values.objects(values)]


class KeyHeaderEncoder:
    """Encodes several open files, which have the same rows. The task thread owns it."""

    def __init__(self, formats: Mapping[str, Format]) -> None:
        self._formats = formats
        self._encoders: dict[str, Encoder] = {}
        self._inferred: frozenset[str] = frozenset()

    @property
    def size_bytes(self) -> int:
        """Return the bytes of memory that the files hold together."""
        return sum(encoder.size_bytes for encoder in self._encoders.values())

    def write(self, rows: pa.RecordBatch, schema: SideSchemas) -> None:
        """Append rows. Rows without values are not written to the file of values."""
        import pyarrow as pa

        self._inferred = schema.inferred
        for name, column in zip(rows.schema.names, rows.columns, strict=True):
            if name == VALUE and column.null_count == len(column):
                continue
            own = schema.own[name]
            if name not in self._encoders:
                self._encoders[name] = self._formats[name].encoder()
            is_table = isinstance(own, pa.Schema)
            self._encoders[name].write(pa.RecordBatch.from_struct_array(column) if is_table else column, own)

    def can_become(self, schema: SideSchemas) -> bool:
        """Return True if each of the files can be written in its new schema without loss."""
        return all(encoder.can_become(schema.own[name]) for name, encoder in self._encoders.items())

    def end(self) -> KeyHeaderBody:
        """End all files and return them."""
        ended = {name: encoder.end() for name, encoder in self._encoders.items()}
        return KeyHeaderBody(ended, {name: self._formats[name] for name in ended}, self._inferred)


@dataclass(frozen=True, slots=True)
class KeyHeaderBody:
    """Holds ended files, all with the same rows. The values of the sides in `inferred` have no schema.

    With `is_sparse` their files leave out fields to which none of their rows gives a type, once they are cut.
    """

    bodies: Mapping[str, Any]
    formats: Mapping[str, Format]
    inferred: frozenset[str] = frozenset()
    is_sparse: bool = False

    @property
    def size_bytes(self) -> int:
        """Return the size of all files together in bytes."""
        return sum(body.size_bytes for body in self.bodies.values())

    def without_first(self, rows: int) -> KeyHeaderBody:
        """Return the same files without their first rows."""
        return replace(self, bodies={name: body.without_first(rows) for name, body in self.bodies.items()})

    def sparse(self) -> KeyHeaderBody:
        """Return the same files, which leave out fields without a type once rows are cut off."""
        sides = {name: body.sparse() if name in self.inferred else body for name, body in self.bodies.items()}
        return replace(self, bodies=sides, is_sparse=True)

    def first(self, rows: int) -> KeyHeaderBody:
        """Return the same files with only their first rows."""
        return self._recut((self,), rows)

    def joined(self, other: KeyHeaderBody) -> KeyHeaderBody:
        """Return the files that have the rows of both. SchemaError: no file can hold them."""
        return self._recut((self, other), None)

    def _recut(self, parts: Sequence[KeyHeaderBody], rows: int | None) -> KeyHeaderBody:
        bodies = {
            name: recut(
                self.formats[name].encoder(),
                [part.bodies[name] for part in parts],
                rows,
                is_sparse=self.is_sparse and name in self.inferred,
            )
            for name in self.bodies
        }
        cut = replace(self, bodies=bodies, is_sparse=False)
        return cut.sparse() if self.is_sparse else cut


def _nulls(prepared: Prepared) -> pa.BooleanArray | None:
    import pyarrow.compute as pc

    return None if prepared.valid is None else pc.invert(prepared.valid)


def _as_column(rows: pa.RecordBatch | pa.Array, nulls: pa.BooleanArray | None) -> pa.Array:
    import pyarrow as pa

    if isinstance(rows, pa.Array):
        return rows
    return pa.StructArray.from_arrays(rows.columns, fields=list(rows.schema), mask=nulls)


def _equal(one: Any, other: Any) -> bool:
    return one is other if one is None or other is None else bool(one.equals(other))


def _refuse(rows: Sequence[int], what: str, key: str) -> None:
    if rows:
        error = SchemaError(f"The record has no {what}, and {key}=true stores one with each value.")
        raise RejectedRowsError(dict.fromkeys(rows, error))


def _enveloped(column: Column, name: str, struct_name: str) -> Column:
    import pyarrow as pa

    array = column.arrow()
    optional = column.schema is None or column.schema.optional
    struct = pa.StructArray.from_arrays([array], fields=[pa.field(name, array.type, optional)])
    if column.schema is None:
        return Column.whole(struct)
    return Column.from_arrow(struct, replace(s.struct({name: column.schema}), name=struct_name))


def _text(header: Header) -> dict[str, Any]:
    return {"key": header.key, "value": None if header.value is None else java_string(header.value, header.schema)}
