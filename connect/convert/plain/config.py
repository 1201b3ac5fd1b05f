"""Declares the settings of the converters, as Kafka 4.1 declares them. No I/O, no Arrow."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from connect.api.config import Boolean, Config, Int, String, key, one_of


class Coercion(StrEnum):
    """Tells what becomes of a JSON value that does not fit its schema."""

    STRICT = "strict"
    JAVA = "java"


class JsonConfig(Config):
    """Declares the keys of org.apache.kafka.connect.json.JsonConverterConfig, and our `converter.coercion`."""

    schemas_enable: Boolean = key(
        "schemas.enable", True, doc="Include schemas within each of the serialized values and keys.",
        importance="high", group="Schemas", display_name="Enable Schemas",
    )  # fmt: skip
    schemas_cache_size: Int = key(
        "schemas.cache.size", 1000, doc="The maximum number of schemas that can be cached in this converter instance.",
        importance="high", group="Schemas", display_name="Schema Cache Size",
    )  # fmt: skip
    decimal_format: Annotated[String, one_of("NUMERIC", "BASE64", ignore_case=True)] = key(
        "decimal.format", "BASE64", importance="low", group="Serialization", display_name="Decimal Format",
        doc="How decimals are written: BASE64 (of the unscaled bytes) or NUMERIC (a JSON number). Both are read.",
    )  # fmt: skip
    replace_null_with_default: Boolean = key(
        "replace.null.with.default", True, importance="low", group="Schemas",
        display_name="Replace null with default",
        doc="Whether a null field that has a default value is replaced by it.",
    )  # fmt: skip
    schema_content: String | None = key(
        "schema.content", None, importance="high", group="Schemas", display_name="Schema Content", internal=True,
        doc="A JSON schema that every message read has; the messages then carry the payload alone (KIP-1054).",
    )  # fmt: skip
    coercion: Annotated[String, one_of(*Coercion)] = key(
        "converter.coercion", Coercion.STRICT.value, importance="low", group="Serialization",
        display_name="Coercion", internal=True,
        doc="strict: a value that does not fit its schema rejects the row. java: it is changed as Java's converter "
        "does, for example \"abc\" read as an int32 becomes 0.",
    )  # fmt: skip

    @property
    def numeric_decimals(self) -> bool:
        """Tell if decimals are written as JSON numbers."""
        return self.decimal_format.upper() == "NUMERIC"


class StringConfig(Config):
    """Holds the settings of org.apache.kafka.connect.storage.StringConverterConfig, and `converter.coercion`."""

    encoding: String = key(
        "converter.encoding", "UTF-8",
        harmless="a character set",
        doc="The name of the Java character set to use for encoding strings.",
        importance="high", group="Encoding", display_name="Encoding",
    )  # fmt: skip
    coercion: Annotated[String, one_of(*Coercion)] = key(
        "converter.coercion", Coercion.STRICT.value, importance="low", group="Encoding", display_name="Coercion",
        internal=True,
        doc="strict: bytes that are no text in the encoding, and characters it does not have, reject the row. java: "
        "they become U+FFFD and ?.",
    )  # fmt: skip


class NoConfig(Config):
    """Declares no settings, for the converters that have none."""
