"""Builds io.confluent.connect.protobuf.ProtobufConverter over columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.schema import Schema
from connect.convert.plain.header import ColumnHeaderConverter
from connect.convert.protobuf.compile import compile_proto
from connect.convert.protobuf.config import ProtobufConfig
from connect.convert.protobuf.decode import decoder
from connect.convert.protobuf.encode import encoder
from connect.convert.protobuf.from_connect import message_name, proto_text
from connect.convert.protobuf.model import ProtoMessage, ProtoSchema
from connect.convert.protobuf.settings import ProtobufSettings
from connect.convert.protobuf.to_connect import connect_of
from connect.convert.registry.client import Registered
from connect.convert.registry.converter import Encode, OwnSchema, Reading, References, RegistryConverter
from connect.convert.registry.framing import SIZE
from connect.convert.registry.schemas import Recent
from connect.convert.vectors.cursor import Cursor
from connect.convert.vectors.pieces import varints, zigzag

PROTOBUF: Final = "PROTOBUF"
Indexes = tuple[int, ...]

_MOST_INDEXES: Final = 64
_COMPILED_KEPT: Final = 100


def protobuf(config: ProtobufConfig, *, is_key: bool = False) -> RegistryConverter:
    """Return the converter for these settings. It asks the registry only when it first needs a schema."""
    return RegistryConverter(config, ProtobufFormat(config.settings), is_key=is_key, cache_size=config.cache_size)


def protobuf_header(config: ProtobufConfig, *, is_key: bool = False) -> ColumnHeaderConverter:
    """Return the header converter for these settings."""
    return ColumnHeaderConverter(protobuf(config, is_key=is_key))


class ProtobufFormat:
    """Provides the `Format` of Protobuf.

    Between the frame and the message stand the indexes that say which message of the file it is.
    """

    def __init__(self, settings: ProtobufSettings) -> None:
        self._settings = settings
        self._compiled: Recent[tuple[str, ...], ProtoSchema] = Recent(_COMPILED_KEPT)

    def own_schema(self, schema: Schema) -> OwnSchema:
        """See `Format`."""
        text = proto_text(schema, self._settings)
        return OwnSchema(Registered(text, PROTOBUF), message_name(schema, self._settings))

    def encoder(self, schema: Schema, registered: Registered, references: References) -> Encode:
        """See `Format`."""
        compiled = self._compile(registered, references)
        message = compiled.named(message_name(schema, self._settings)) or compiled.first
        write = encoder(schema, message, self._settings)
        indexes = pa.scalar(index_bytes(message), pa.binary())
        return lambda array: [indexes, write(array)]

    def reading(self, registered: Registered, references: References, version: int | None) -> Reading:
        """See `Format`. The schema is that of the file's first message; `split` tells the others apart."""
        compiled = self._compile(registered, references)
        known: dict[Indexes, Reading] = {}

        def of(indexes: Indexes) -> Reading:
            if indexes not in known:
                message = compiled.at(indexes or (0,))
                if message is None:
                    raise SchemaError(f"The Protobuf schema {registered.schema_id} has no message at {list(indexes)}.")
                known[indexes] = _reading_of(message, self._settings, version)
            return known[indexes]

        return replace(of(()), split=lambda data: _split(data, of))

    def _compile(self, registered: Registered, references: References) -> ProtoSchema:
        if registered.kind != PROTOBUF:
            raise SchemaError(
                f"Schema id {registered.schema_id} is {registered.kind}, not a Protobuf schema.",
                fix="Use the converter of that format.",
            )
        imports = [(name, referred.text) for name, referred in references]
        key = (registered.text, *(part for pair in imports for part in pair))
        return self._compiled.get(key, lambda: compile_proto(registered.text, imports))


def _reading_of(message: ProtoMessage, settings: ProtobufSettings, version: int | None) -> Reading:
    schema = connect_of(message, settings, version=version)
    decode = decoder(schema, message, settings)

    def read(data: pa.BinaryArray) -> pa.Array:
        cursor = Cursor.over(data, SIZE)
        _read_indexes(cursor)
        array = decode(cursor)
        cursor.expect_end()
        if cursor.failures:
            raise _rejected(cursor)
        return array

    return Reading(schema, read, message.name)


def _split(data: pa.BinaryArray, of: Callable[[Indexes], Reading]) -> Sequence[tuple[int, int, Reading]]:
    """Return runs of consecutive rows of one message type; null rows join the ones before them, or the first ones."""
    rows = np.nonzero(data.is_valid().to_numpy(zero_copy_only=False))[0]
    cursor = Cursor.over(data.drop_null(), SIZE)
    kinds, indexes = _read_indexes(cursor)
    rejected: dict[int, Exception] = {}
    if cursor.failures:
        rejected |= {int(rows[row]): reason for row, reason in _rejected(cursor).rows.items()}
    readings: list[Reading | None] = []
    for kind, path in enumerate(indexes):
        try:
            readings.append(of(path))
        except SchemaError as error:
            readings.append(None)
            rejected |= {int(row): error for row in rows[kinds == kind]}
    if rejected:
        raise RejectedRowsError(rejected)
    starts = [0, *rows[1:][kinds[1:] != kinds[:-1]].tolist(), len(data)]
    cuts = [0, *(np.nonzero(kinds[1:] != kinds[:-1])[0] + 1).tolist()]
    found = [readings[int(kinds[place])] for place in cuts]
    return [(a, b, part) for (a, b), part in zip(pairwise(starts), found, strict=True) if part is not None]


def _read_indexes(cursor: Cursor) -> tuple[npt.NDArray[np.int64], list[Indexes]]:
    """Read the message indexes of every row; one 0 stands for the first message.

    Return for every row its place in a list, and that list of the different indexes.
    """
    counts = cursor.signed_varints()
    bad = (counts < 0) | (counts > _MOST_INDEXES)
    if bad.any():
        cursor.fail(bad, "the message indexes are damaged")
        counts[bad] = 0
    if not counts.any():
        return np.zeros(len(cursor), np.int64), [()]
    paths: list[list[int]] = [[] for _ in range(len(cursor))]
    for level in range(int(counts.max())):
        places = np.nonzero(counts > level)[0]
        part = cursor.part(places)
        for place, index in zip(places, part.signed_varints(), strict=True):
            paths[place].append(int(index))
        cursor.rejoin(part, places)
    known: dict[Indexes, int] = {}
    kinds = np.array([known.setdefault(tuple(path), len(known)) for path in paths], np.int64)
    return kinds, list(known)


def _rejected(cursor: Cursor) -> RejectedRowsError:
    return RejectedRowsError(
        {
            row: SchemaError(f"The record is no message of its Protobuf schema: {reason}.")
            for row, reason in cursor.failures.items()
        }
    )


def index_bytes(message: ProtoMessage) -> bytes:
    """Return the count of indexes and each of them, zigzag; the first message of a file is the one byte 0."""
    if message.indexes == (0,):
        return b"\x00"
    numbers = np.array([len(message.indexes), *message.indexes], np.int64)
    return b"".join(varints(zigzag(numbers)).to_pylist())
