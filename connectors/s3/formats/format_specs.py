"""Describes each file format once, for both Confluent's and Aiven's keys: names, codecs, limits, and the writing code.

A format is one class here, and the module that writes it. No other code compares a format's name. The module is quick
to import, as declarations of settings use it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from connectors.s3.formats.compression import Compression

if TYPE_CHECKING:
    from connect.api.codec import AvroValues
    from connect.api.schema import Schema
    from connectors.s3.formats.file_format import Format, Merger
    from connectors.s3.formats.read_back import Reader

_CONFLUENT: Final = "io.confluent.connect.s3.format."
PARQUET_FORMAT: Final = f"{_CONFLUENT}parquet.ParquetFormat"
JSON_FORMAT: Final = f"{_CONFLUENT}json.JsonFormat"
AVRO_FORMAT: Final = f"{_CONFLUENT}avro.AvroFormat"
BYTES_FORMAT: Final = f"{_CONFLUENT}bytearray.ByteArrayFormat"
JSON_ARRAY_FORMAT: Final = "connect.s3.JsonArrayFormat"
CSV_FORMAT: Final = "connect.s3.CsvFormat"
"""The names of JSON_ARRAY_FORMAT and CSV_FORMAT are this sink's own; Confluent has no such formats."""


@dataclass(frozen=True, slots=True)
class FormatSettings:
    """Holds the settings of formats. `avro_values` makes the encoder for values of a schema."""

    compression: Compression
    parquet_codec: str
    avro_codec: str
    avro_values: Callable[[Schema], AvroValues]
    numeric_decimals: bool
    bytes_extension: str
    bytes_separator: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """Holds Aiven's settings for the parts of a record that a file has: format.output.fields and similar keys."""

    fields: Sequence[str]
    is_struct: bool
    value_is_base64: bool
    compression: Compression


class FormatSpec(ABC):
    """Describes one file format. `Format` has its extension and its media type."""

    class_name: ClassVar[str]
    """The format has this name in format.class."""
    aiven_type: ClassVar[str] = ""
    """The format has this name in Aiven's format.output.type. It is empty if Aiven has no such format."""
    aiven_ending: ClassVar[str] = ""
    """Aiven puts this between a file's name and the extension of its compression."""
    codec_key: ClassVar[str] = "s3.compression.type"
    """This key has the compression as its value."""
    codecs: ClassVar[tuple[str, ...]] = ("none", "gzip", "zstd")
    """`codec_key` may have these values, which are the names of codecs."""
    holds_structs_alone: ClassVar[bool] = False
    """True if files hold structs only, so that any other value is put into a struct."""
    has_one_schema: ClassVar[bool] = False
    """True if a file's schema cannot be widened."""
    names_types: ClassVar[bool] = False
    """True if a file tells the types of its columns."""
    fits_iceberg: ClassVar[bool] = False
    """True if Iceberg tables can have files of this format."""

    @abstractmethod
    def writer(self, settings: FormatSettings) -> Format:
        """Return the format that writes files with these settings."""

    @abstractmethod
    def merger(self, settings: FormatSettings) -> Merger:
        """Return the merger that joins objects of the format."""

    @abstractmethod
    def reader(self, settings: FormatSettings) -> Reader:
        """Return a function that reads the rows of an object by other code than the writer's."""

    def aiven_writer(self, envelope: Envelope, settings: FormatSettings) -> Format:
        """Return the format as Aiven's sink writes it. NotImplementedError: Aiven has no such format."""
        raise NotImplementedError(f"{self.class_name} is no format of Aiven's.")

    def aiven_settings(self, compression: str) -> Mapping[str, str]:
        """Return Confluent's settings that mean the same as Aiven's file.compression.type."""
        del compression
        return {}

    def column_types(self, data: bytes) -> Mapping[str, str]:
        """Return the types of an object's columns by name; empty if files do not tell types."""
        del data
        return {}


class _Parquet(FormatSpec):
    """Describes Parquet files, which are compressed column by column inside of the file."""

    class_name = PARQUET_FORMAT
    aiven_type = "parquet"
    codec_key = "parquet.codec"
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    holds_structs_alone = True
    names_types = True
    fits_iceberg = True

    def writer(self, settings: FormatSettings) -> Format:
        """Return the format for Parquet files with the codec."""
        from connectors.s3.formats.parquet import ParquetFormat

        return ParquetFormat(settings.parquet_codec)

    def merger(self, settings: FormatSettings) -> Merger:
        """Return the merger that joins row groups."""
        from connectors.s3.formats.parquet import ParquetMerger

        return ParquetMerger(settings.parquet_codec)

    def reader(self, settings: FormatSettings) -> Reader:
        """Return Arrow's reader."""
        from connectors.s3.formats.read_back import parquet_rows

        del settings
        return parquet_rows

    def aiven_writer(self, envelope: Envelope, settings: FormatSettings) -> Format:
        """Return the format for Parquet files of structs, which are made of a record's parts."""
        from connectors.s3.formats.envelope import StructEnvelope

        return StructEnvelope(self.writer(settings), envelope.fields, envelope.is_struct)

    def aiven_settings(self, compression: str) -> Mapping[str, str]:
        """Return the key and the codec, which has the same name as in Aiven's key."""
        return {self.codec_key: compression}

    def column_types(self, data: bytes) -> Mapping[str, str]:
        """Return the types that the footer names."""
        from connectors.s3.formats.read_back import parquet_types

        return parquet_types(data)


class _Avro(FormatSpec):
    """Describes Avro's object container files."""

    class_name = AVRO_FORMAT
    aiven_type = "avro"
    aiven_ending = ".avro"
    codec_key = "avro.codec"
    codecs = ("null", "deflate", "snappy", "bzip2", "xz", "zstandard")
    has_one_schema = True
    _OF_AIVEN: Final = {"none": "null", "gzip": "deflate", "snappy": "snappy", "zstd": "zstandard"}

    def writer(self, settings: FormatSettings) -> Format:
        """Return the format for Avro files with the codec."""
        from connectors.s3.formats.avro import AvroFormat

        return AvroFormat(settings.avro_codec, settings.avro_values)

    def merger(self, settings: FormatSettings) -> Merger:
        """Return the merger that joins blocks without changing them."""
        from connectors.s3.formats.avro import AvroMerger

        del settings
        return AvroMerger()

    def reader(self, settings: FormatSettings) -> Reader:
        """Return the reader of fastavro."""
        from connectors.s3.formats.read_back import avro_rows

        del settings
        return avro_rows

    def aiven_writer(self, envelope: Envelope, settings: FormatSettings) -> Format:
        """Return the format for Avro files of structs, which are made of a record's parts."""
        from connectors.s3.formats.envelope import StructEnvelope

        return StructEnvelope(self.writer(settings), envelope.fields, envelope.is_struct)

    def aiven_settings(self, compression: str) -> Mapping[str, str]:
        """Return the codec by Avro's names."""
        return {self.codec_key: self._OF_AIVEN[compression]}


class _Json(FormatSpec):
    """Describes files with one JSON text per line."""

    class_name = JSON_FORMAT
    aiven_type = "jsonl"

    def writer(self, settings: FormatSettings) -> Format:
        """Return the format for files with one JSON text per line."""
        from connectors.s3.formats.text import JsonFormat

        return JsonFormat(settings.compression, settings.numeric_decimals)

    def merger(self, settings: FormatSettings) -> Merger:
        """Return the merger that joins lines."""
        from connectors.s3.formats.text import LINES, TextMerger

        return TextMerger(LINES, settings.compression)

    def reader(self, settings: FormatSettings) -> Reader:
        """Return a function that splits a file into its lines."""
        from connectors.s3.formats.read_back import text_reader

        return text_reader(settings.compression, b"\n")

    def aiven_writer(self, envelope: Envelope, settings: FormatSettings) -> Format:
        """Return the format for files with one JSON object per line, which is made of a record's parts."""
        from connectors.s3.formats.envelope import JsonEnvelope
        from connectors.s3.formats.text import LINES

        del settings
        return JsonEnvelope(envelope.fields, envelope.is_struct, LINES, envelope.compression)


class _Bytes(FormatSpec):
    """Describes files with the bytes of values unchanged, and a separator after each value."""

    class_name = BYTES_FORMAT

    def writer(self, settings: FormatSettings) -> Format:
        """Return the format for files of bytes with a separator after each value."""
        from connectors.s3.formats.text import BytesFormat

        return BytesFormat(settings.bytes_extension, settings.bytes_separator, settings.compression)

    def merger(self, settings: FormatSettings) -> Merger:
        """Return the merger that joins values; each value has its separator already."""
        from connectors.s3.formats.text import Frame, TextMerger

        return TextMerger(Frame(), settings.compression)

    def reader(self, settings: FormatSettings) -> Reader:
        """Return a function that splits a file at the separators."""
        from connectors.s3.formats.read_back import text_reader

        return text_reader(settings.compression, settings.bytes_separator)


class _JsonArray(FormatSpec):
    """Describes files with one JSON array, whose elements are the texts that JsonFormat writes as lines."""

    class_name = JSON_ARRAY_FORMAT
    aiven_type = "json"

    def writer(self, settings: FormatSettings) -> Format:
        """Return the format for files with one JSON array."""
        from connectors.s3.formats.text import JsonArrayFormat, JsonFormat

        return JsonArrayFormat(JsonFormat(settings.compression, settings.numeric_decimals))

    def merger(self, settings: FormatSettings) -> Merger:
        """Return the merger that joins arrays."""
        from connectors.s3.formats.text import ARRAY, TextMerger

        return TextMerger(ARRAY, settings.compression)

    def reader(self, settings: FormatSettings) -> Reader:
        """Return a function that reads the elements of an array."""
        from connectors.s3.formats.read_back import array_reader

        return array_reader(settings.compression)

    def aiven_writer(self, envelope: Envelope, settings: FormatSettings) -> Format:
        """Return the format for files with one JSON array of objects, which are made of a record's parts."""
        from connectors.s3.formats.envelope import JsonEnvelope
        from connectors.s3.formats.text import ARRAY

        del settings
        return JsonEnvelope(envelope.fields, envelope.is_struct, ARRAY, envelope.compression)


class _Csv(FormatSpec):
    """Describes files with column names and a line per record. In Aiven's form a line has parts of Kafka's record."""

    class_name = CSV_FORMAT
    aiven_type = "csv"

    def writer(self, settings: FormatSettings) -> Format:
        """Return the format for CSV files with column names."""
        from connectors.s3.formats.csv import CsvFormat

        return CsvFormat(settings.compression)

    def merger(self, settings: FormatSettings) -> Merger:
        """Return the merger that joins lines of files with the same column names."""
        from connectors.s3.formats.csv import CsvMerger

        return CsvMerger(settings.compression)

    def reader(self, settings: FormatSettings) -> Reader:
        """Return a function that reads the lines after the first one."""
        from connectors.s3.formats.read_back import csv_reader

        return csv_reader(settings.compression)

    def aiven_writer(self, envelope: Envelope, settings: FormatSettings) -> Format:
        """Return the format for files with lines of a record's parts, with a comma between them."""
        from connectors.s3.formats.envelope import PlainFields

        del settings
        return PlainFields(envelope.fields, envelope.value_is_base64, envelope.compression)


FORMATS: Final[dict[str, FormatSpec]] = {
    spec.class_name: spec for spec in (_Parquet(), _Avro(), _Json(), _Bytes(), _JsonArray(), _Csv())
}
"""Maps the values of format.class to the formats."""


def aiven_formats() -> dict[str, FormatSpec]:
    """Return the formats that Aiven's sinks have, by the value of format.output.type."""
    return {spec.aiven_type: spec for spec in reversed(FORMATS.values()) if spec.aiven_type}
