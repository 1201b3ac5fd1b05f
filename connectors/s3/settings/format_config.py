"""Declares the settings of the S3 sink for the format and the content of its files. It has values only.

Source of names and defaults: as `connectors.s3.settings.config`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import BeforeValidator

from connect.api.allowed import ConfigType, OneOf
from connect.api.config import (
    Boolean,
    ClassName,
    Int,
    String,
    between,
    key,
    non_empty,
    one_of,
)
from connect.api.errors import ConfigProblem
from connectors.s3.formats.format_specs import AVRO_FORMAT, FORMATS, PARQUET_FORMAT, FormatSpec
from connectors.s3.settings.bucket_config import BucketConfig
from connectors.s3.settings.limits import any_package, one_class


class FormatConfig(BucketConfig):
    """Holds the keys of the group Format."""

    format_class: Annotated[
        ClassName,
        BeforeValidator(any_package),
        one_class(*FORMATS),
        OneOf(tuple(FORMATS)),
    ] = key("format.class", doc="Format of the objects.", importance="high", group="Format")
    parquet_codec: Annotated[String, one_of(*FORMATS[PARQUET_FORMAT].codecs)] = key(
        "parquet.codec", "snappy", doc="Compression inside Parquet files; part of the file name.", group="Format"
    )
    avro_codec: Annotated[String, one_of(*FORMATS[AVRO_FORMAT].codecs)] = key(
        "avro.codec", "null", doc="Compression inside Avro files; no part of the file name.", group="Format"
    )
    enhanced_avro: Boolean = key(
        "enhanced.avro.schema.support", True, doc="Avro files: enums stay enums, and names keep their package.",
        importance="low", group="Format",
    )  # fmt: skip
    connect_meta_data: Boolean = key(
        "connect.meta.data", True, doc="Avro files: the schema tells what Connect knows beyond Avro, as connect.name.",
        importance="low", group="Format",
    )  # fmt: skip
    optional_map_keys: Boolean = key(
        "allow.optional.map.keys", False, doc="Avro files: maps with optional keys of text are maps, not arrays of "
        "entries.", importance="low", group="Format",
    )  # fmt: skip
    compression_type: Annotated[String, one_of(*FormatSpec.codecs)] = key(
        "s3.compression.type", "none", doc="Compression of JSON and byte files; zstd is ours.", group="Format"
    )
    compression_level: Annotated[Int, between(-1, 9)] = key(
        "s3.compression.level", -1, doc="zlib's level; -1: its default.", importance="low", group="Format"
    )
    json_decimal_format: Annotated[String, one_of("BASE64", "NUMERIC", ignore_case=True)] = key(
        "json.decimal.format", "BASE64", doc="Decimals in JSON: unscaled bytes in base64, or a number.", group="Format"
    )
    bytes_extension: String = key(
        "format.bytearray.extension", ".bin", doc="File name extension of ByteArrayFormat.", importance="low",
        group="Format", harmless="a part of an object's key",
    )  # fmt: skip
    bytes_separator: Annotated[str | None, ConfigType.STRING] = key(
        "format.bytearray.separator", None, doc="Written after each value of ByteArrayFormat. Null: a line feed.",
        importance="low", group="Format",
    )  # fmt: skip
    null_values: Annotated[String, one_of("fail", "ignore", "write", ignore_case=True)] = key(
        "behavior.on.null.values",
        "fail",
        doc="Records with a null value: fail rejects them as errors.tolerance says, ignore leaves them out, write "
        "stores their keys below tombstone.encoded.partition, which needs store.kafka.keys=true.",
        group="Format",
    )
    tombstone_path: Annotated[String, non_empty] = key(
        "tombstone.encoded.partition", "tombstone",
        harmless="a part of an object's key",
        doc="Path of records with a null value that are written.",
        importance="low", group="Format",
    )  # fmt: skip
    store_keys: Boolean = key(
        "store.kafka.keys", False, doc="Store each record's key too, in a file NAME.keys.EXTENSION beside that of the "
        "values; a record without a key is a bad row.", group="Format",
    )  # fmt: skip
    keys_format: Annotated[ClassName, BeforeValidator(any_package), one_class(*FORMATS), OneOf(tuple(FORMATS))] = key(
        "keys.format.class", AVRO_FORMAT, doc="Format of the keys.", importance="low", group="Format"
    )
    store_headers: Boolean = key(
        "store.kafka.headers", False, doc="Store each record's headers too, as texts, in a file "
        "NAME.headers.EXTENSION; a record without headers is a bad row.", group="Format",
    )  # fmt: skip
    headers_format: Annotated[ClassName, BeforeValidator(any_package), one_class(*FORMATS), OneOf(tuple(FORMATS))] = (
        key("headers.format.class", AVRO_FORMAT, doc="Format of the headers.", importance="low", group="Format")
    )
    schema_compatibility: Annotated[
        String, one_of("NONE", "BACKWARD", "FORWARD", "FULL", "MERGE", ignore_case=True)
    ] = key(
        "schema.compatibility",
        "NONE",
        doc="What a changed schema does. NONE: a new file starts. BACKWARD, FULL: newer versions start a new file, "
        "records of older ones are projected to the file's schema; FORWARD: the other way round. MERGE, which is ours: "
        "the file's schema is widened.",
        group="Format",
    )
    drop_partition_fields: Boolean = key(
        "partition.field.drop", False, doc="Fields of the path (partition.field.name) are left out of the files, as "
        "readers of Hive's layout expect.", group="Format",
    )  # fmt: skip

    @property
    def avro_properties(self) -> dict[str, str]:
        """Return the settings for the conversion of schemas to Avro's."""
        return {
            "enhanced.avro.schema.support": str(self.enhanced_avro).lower(),
            "connect.meta.data": str(self.connect_meta_data).lower(),
            "allow.optional.map.keys": str(self.optional_map_keys).lower(),
        }

    def format_problems(self) -> Iterator[ConfigProblem]:
        """Yield what is wrong between keys of this group."""
        spec, name = FORMATS[self.format_class], FormatSpec.codec_key
        if spec.codec_key != name and self.compression_type != "none":
            yield ConfigProblem(name, f"{name} is for text and byte files; use {spec.codec_key}.")
        if self.writes_tombstones and not self.store_keys:
            yield ConfigProblem(
                "behavior.on.null.values",
                "behavior.on.null.values=write stores the keys of such records; set store.kafka.keys=true.",
            )
        if self.schema_compatibility.upper() == "MERGE" and spec.has_one_schema:
            yield ConfigProblem(
                "schema.compatibility", "An Avro file has one schema; schema.compatibility=MERGE is for other formats."
            )

    @property
    def writes_tombstones(self) -> bool:
        """Return True if records without a value are written."""
        return self.null_values.lower() == "write"
