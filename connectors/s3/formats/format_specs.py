"""Describes each file format once, for Confluent's and Aiven's keys alike: names, codecs, limits, and who writes it.

A format is one class here and the module that writes it. Nothing else compares a format's name. Cheap to import, as
declarations of settings read it.
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
"""These two are ours."""


@dataclass(frozen=True, slots=True)
class FormatSettings:
    """Holds the settings that formats are written by. `avro_values` makes what encodes values of a schema."""

    compression: Compression
    parquet_codec: str
    avro_codec: str
    avro_values: Callable[[Schema], AvroValues]
    numeric_decimals: bool
    bytes_extension: str
    bytes_separator: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """Holds Aiven's settings of what parts of a record a file has: format.output.fields and its like."""

    fields: Sequence[str]
    is_struct: bool
    value_is_base64: bool
    compression: Compression


class FormatSpec(ABC):
    """Describes one file format. Subclasses say what is different; `Format` has the ending and the media type."""

    class_name: ClassVar[str]
    """The name that format.class has for it."""
    aiven_type: ClassVar[str] = ""
    """The value of Aiven's format.output.type; empty where Aiven has no such format."""
    aiven_ending: ClassVar[str] = ""
    """What Aiven puts between a file's name and the ending of its compression."""
    codec_key: ClassVar[str] = "s3.compression.type"
    """The key that names the compression."""
    codecs: ClassVar[tuple[str, ...]] = ("none", "gzip", "zstd")
    """The values that `codec_key` takes; they are the codecs."""
    holds_structs_alone: ClassVar[bool] = False
    """True where any other value is put into a struct."""
    has_one_schema: ClassVar[bool] = False
    """True where a file's schema cannot be widened."""
    names_types: ClassVar[bool] = False
    """True where a file says which types its columns have."""
    fits_iceberg: ClassVar[bool] = False
    """True where Iceberg tables can have such files."""

    @abstractmethod
    def writer(self, settings: FormatSettings) -> Format:
        """Return the format with its settings, which writes files."""

    @abstractmethod
    def merger(self, settings: FormatSettings) -> Merger:
        """Return what joins objects of the format."""

    @abstractmethod
    def reader(self, settings: FormatSettings) -> Reader:
        """Return what reads the rows of an object back without the writer."""

    def aiven_writer(self, envelope: Envelope, settings: FormatSettings) -> Format:
        """Return the format as Aiven's sink writes it, where it has such."""
        raise NotImplementedError(f"{self.class_name} is no format of Aiven's.")

    def aiven_settings(self, compression: str) -> Mapping[str, str]:
        """Return the settings of Confluent's that stand for Aiven's file.compression.type."""
        del compression
        return {}

    def column_types(self, data: bytes) -> Mapping[str, str]:
        """Return the types of an object's columns by name, where files name types."""
        del data
        return {}


class _Parquet(FormatSpec):
    """Describes Parquet, which is compressed inside."""

    class_name = PARQUET_FORMAT
    aiven_type = "parquet"
    codec_key = "parquet.codec"
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    holds_structs_alone = True
    names_types = True
    fits_iceberg = True

    def writer(self, settings: FormatSettings) -> Format:
        """Return Parquet files of the codec."""
        from connectors.s3.formats.parquet import ParquetFormat

        return ParquetFormat(settings.parquet_codec)

    def merger(self, settings: FormatSettings) -> Merger:
        """Return what joins row groups."""
        from connectors.s3.formats.parquet import ParquetMerger

        return ParquetMerger(settings.parquet_codec)

    def reader(self, settings: FormatSettings) -> Reader:
        """Return Arrow's reader."""
        from connectors.s3.formats.read_back import parquet_rows

        del settings
        return parquet_rows

    def aiven_writer(self, envelope: Envelope, settings: FormatSettings) -> Format:
        """Return Parquet of structs of a record's parts."""
        from connectors.s3.formats.envelope import StructEnvelope

        return StructEnvelope(self.writer(settings), envelope.fields, envelope.is_struct)

    def aiven_settings(self, compression: str) -> Mapping[str, str]:
        """Return the codec, which has the same names."""
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
        """Return Avro files of the codec."""
        from connectors.s3.formats.avro import AvroFormat

        return AvroFormat(settings.avro_codec, settings.avro_values)

    def merger(self, settings: FormatSettings) -> Merger:
        """Return what joins blocks as they are."""
        from connectors.s3.formats.avro import AvroMerger

        del settings
        return AvroMerger()

    def reader(self, settings: FormatSettings) -> Reader:
        """Return the reader of fastavro."""
        from connectors.s3.formats.read_back import avro_rows

        del settings
        return avro_rows

    def aiven_writer(self, envelope: Envelope, settings: FormatSettings) -> Format:
        """Return Avro of structs of a record's parts."""
        from connectors.s3.formats.envelope import StructEnvelope

        return StructEnvelope(self.writer(settings), envelope.fields, envelope.is_struct)

    def aiven_settings(self, compression: str) -> Mapping[str, str]:
        """Return the codec by Avro's names."""
        return {self.codec_key: self._OF_AIVEN[compression]}


class _Json(FormatSpec):
    """Describes files of a JSON text per line."""

    class_name = JSON_FORMAT
    aiven_type = "jsonl"

    def writer(self, settings: FormatSettings) -> Format:
        """Return lines of JSON."""
        from connectors.s3.formats.text import JsonFormat

        return JsonFormat(settings.compression, settings.numeric_decimals)

    def merger(self, settings: FormatSettings) -> Merger:
        """Return what joins lines."""
        from connectors.s3.formats.text import LINES, TextMerger

        return TextMerger(LINES, settings.compression)

    def reader(self, settings: FormatSettings) -> Reader:
        """Return what splits lines."""
        from connectors.s3.formats.read_back import text_reader

        return text_reader(settings.compression, b"\n")

    def aiven_writer(self, envelope: Envelope, settings: FormatSettings) -> Format:
        """Return a JSON object of a record's parts per line."""
        from connectors.s3.formats.envelope import JsonEnvelope
        from connectors.s3.formats.text import LINES

        del settings
        return JsonEnvelope(envelope.fields, envelope.is_struct, LINES, envelope.compression)


class _Bytes(FormatSpec):
    """Describes files of bytes as they are, with a separator behind each value."""

    class_name = BYTES_FORMAT

    def writer(self, settings: FormatSettings) -> Format:
        """Return values with their separator."""
        from connectors.s3.formats.text import BytesFormat

        return BytesFormat(settings.bytes_extension, settings.bytes_separator, settings.compression)

    def merger(self, settings: FormatSettings) -> Merger:
        """Return what joins values; each has its separator behind it already."""
        from connectors.s3.formats.text import Frame, TextMerger

        return TextMerger(Frame(), settings.compression)

    def reader(self, settings: FormatSettings) -> Reader:
        """Return what splits values at their separator."""
        from connectors.s3.formats.read_back import text_reader

        return text_reader(settings.compression, settings.bytes_separator)


class _JsonArray(FormatSpec):
    """Describes files of one JSON array, whose elements are what JsonFormat writes as lines."""

    class_name = JSON_ARRAY_FORMAT
    aiven_type = "json"

    def writer(self, settings: FormatSettings) -> Format:
        """Return arrays of JSON."""
        from connectors.s3.formats.text import JsonArrayFormat, JsonFormat

        return JsonArrayFormat(JsonFormat(settings.compression, settings.numeric_decimals))

    def merger(self, settings: FormatSettings) -> Merger:
        """Return what joins arrays."""
        from connectors.s3.formats.text import ARRAY, TextMerger

        return TextMerger(ARRAY, settings.compression)

    def reader(self, settings: FormatSettings) -> Reader:
        """Return what reads the elements of an array."""
        from connectors.s3.formats.read_back import array_reader

        return array_reader(settings.compression)

    def aiven_writer(self, envelope: Envelope, settings: FormatSettings) -> Format:
        """Return an array of JSON objects of a record's parts."""
        from connectors.s3.formats.envelope import JsonEnvelope
        from connectors.s3.formats.text import ARRAY

        del settings
        return JsonEnvelope(envelope.fields, envelope.is_struct, ARRAY, envelope.compression)


class _Csv(FormatSpec):
    """Describes files of column names and a line per record; in Aiven's form a line has some parts of a record."""

    class_name = CSV_FORMAT
    aiven_type = "csv"

    def writer(self, settings: FormatSettings) -> Format:
        """Return CSV with column names."""
        from connectors.s3.formats.csv import CsvFormat

        return CsvFormat(settings.compression)

    def merger(self, settings: FormatSettings) -> Merger:
        """Return what joins lines of files with the same column names."""
        from connectors.s3.formats.csv import CsvMerger

        return CsvMerger(settings.compression)

    def reader(self, settings: FormatSettings) -> Reader:
        """Return what reads lines behind the first."""
        from connectors.s3.formats.read_back import csv_reader

        return csv_reader(settings.compression)

    def aiven_writer(self, envelope: Envelope, settings: FormatSettings) -> Format:
        """Return lines of a record's parts with a comma between them."""
        from connectors.s3.formats.envelope import PlainFields

        del settings
        return PlainFields(envelope.fields, envelope.value_is_base64, envelope.compression)


FORMATS: Final[dict[str, FormatSpec]] = {
    spec.class_name: spec for spec in (_Parquet(), _Avro(), _Json(), _Bytes(), _JsonArray(), _Csv())
}
"""All formats by the value of format.class."""


def aiven_formats() -> dict[str, FormatSpec]:
    """Return the formats that Aiven's sinks have, by the value of format.output.type."""
    return {spec.aiven_type: spec for spec in reversed(FORMATS.values()) if spec.aiven_type}
