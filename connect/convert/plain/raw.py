"""Converts columns to bytes and back as Kafka Connect's StringConverter and ByteArrayConverter do."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from connect.api.arrow import connect_schema
from connect.api.errors import ConfigError, SchemaError
from connect.api.records import Column
from connect.api.schema import BYTES, LOGICAL, STRING, Schema, Type
from connect.api.values.text import java_string
from connect.convert.plain.config import Coercion, NoConfig, StringConfig
from connect.convert.plain.header import ColumnHeaderConverter
from connect.convert.plain.rows import each

OPTIONAL_STRING = STRING.as_optional()
OPTIONAL_BYTES = BYTES.as_optional()
_ENCODED_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_JAVA_NAMES = {"cp1252": "cp1252", "utf8": "utf-8", "utf-32": "utf-32-be", "latin1": "latin-1"}


def string(config: StringConfig, *, is_key: bool) -> StringConverter:  # noqa: ARG001 - both sides are alike
    """Return the StringConverter of these settings."""
    return StringConverter(config)


def string_header(config: StringConfig, *, is_key: bool = False) -> ColumnHeaderConverter:  # noqa: ARG001 - of the protocol
    """Return the StringConverter of these settings as a header converter."""
    return ColumnHeaderConverter(StringConverter(config))


def byte_array(config: NoConfig, *, is_key: bool) -> ByteArrayConverter:  # noqa: ARG001 - of the protocol
    """Return a new ByteArrayConverter."""
    return ByteArrayConverter()


def byte_array_header(config: NoConfig, *, is_key: bool = False) -> ColumnHeaderConverter:  # noqa: ARG001 - of the protocol
    """Return a new ByteArrayConverter as a header converter."""
    return ColumnHeaderConverter(ByteArrayConverter())


class StringConverter:
    """Converts every value to its text in one character set; reads optional strings. Owned by one task thread."""

    def __init__(self, config: StringConfig) -> None:
        self._codec = _codec(config.encoding)
        self._utf8 = self._codec.name == "utf-8"
        self._big_endian_mark = config.encoding.upper() == "UTF-16"
        self._errors = "replace" if config.coercion == Coercion.JAVA else "strict"

    def encode(self, topic: str, column: Column) -> pa.BinaryArray:  # noqa: ARG002 - of the protocol
        """Return the bytes of Java's `toString()` of every row; null for a null row."""
        if self._utf8 and column.is_arrow:
            text = _plain_text(column.arrow(), column.schema)
            if text is not None:
                return text
        schema = column.schema
        if schema is None and column.is_arrow:
            schema = connect_schema(column.arrow().type)
        return pa.array(each(column.rows(), lambda value: self._bytes(java_string(value, schema))), pa.binary())

    def decode(self, topic: str, data: pa.BinaryArray) -> Sequence[Column]:  # noqa: ARG002 - of the protocol
        """Return the data as one column of optional strings."""
        if self._utf8:
            try:
                return [Column.from_arrow(data.cast(pa.utf8()), OPTIONAL_STRING)]
            except pa.ArrowInvalid:
                pass  # the row path names the rows, or replaces what is no text
        return [Column.from_rows(each(data.to_pylist(), self._text), OPTIONAL_STRING)]

    def _bytes(self, text: str) -> bytes:
        try:
            if self._big_endian_mark:
                return codecs.BOM_UTF16_BE + text.encode("utf-16-be", self._errors) if text else b""
            return self._codec.encode(text, self._errors)[0]
        except UnicodeEncodeError as error:
            raise SchemaError(f"The text has no form in {self._codec.name}: {error.reason}.") from None

    def _text(self, data: bytes) -> str:
        try:
            if self._big_endian_mark and not data.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE)):
                return data.decode("utf-16-be", self._errors)
            if self._utf8 and self._errors == "replace":
                # Java sees an encoded surrogate as one malformed sequence, Python as three bytes.
                data = _ENCODED_SURROGATE.sub("�".encode(), data)
            return self._codec.decode(data, self._errors)[0]
        except UnicodeDecodeError as error:
            raise SchemaError(
                f"The bytes are no {self._codec.name} text at byte {error.start}: {error.reason}.",
                fix="Set converter.encoding to the text's encoding, or converter.coercion=java to replace them.",
            ) from None


def _codec(name: str) -> codecs.CodecInfo:
    try:
        return codecs.lookup(_JAVA_NAMES.get(name.lower(), name))
    except LookupError:
        raise ConfigError(f"Unsupported encoding {name}", key="converter.encoding") from None


def _plain_text(array: pa.Array, schema: Schema | None) -> pa.BinaryArray | None:
    """Return the bytes of types whose text Arrow writes as Java does; None for others."""
    kind = array.type
    if schema is not None and (schema.name or "").startswith(LOGICAL):
        return None
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind):
        return array.cast(pa.utf8()).cast(pa.binary())
    if pt.is_integer(kind) or pt.is_boolean(kind):
        return array.cast(pa.utf8()).cast(pa.binary())
    return None


class ByteArrayConverter:
    """Passes bytes on as they are; reads optional bytes. Owned by one task thread."""

    def encode(self, topic: str, column: Column) -> pa.BinaryArray:  # noqa: ARG002 - of the protocol
        """Return the rows themselves as bytes. Raise SchemaError when the column is of another type."""
        if column.schema is not None and column.schema.type is not Type.BYTES:
            raise SchemaError(f"Invalid schema type for ByteArrayConverter: {column.schema.type.upper()}")
        if column.is_arrow:
            kind = column.arrow().type
            if pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_binary_view(kind):
                return column.arrow().cast(pa.binary())
        return pa.array(each(column.rows(), _raw), pa.binary())

    def decode(self, topic: str, data: pa.BinaryArray) -> Sequence[Column]:  # noqa: ARG002 - of the protocol
        """Return the data as one column of optional bytes."""
        return [Column.from_arrow(data, OPTIONAL_BYTES)]


def _raw(value: Any) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise SchemaError(f"ByteArrayConverter is not compatible with objects of type {type(value).__name__}")
    return bytes(value)
