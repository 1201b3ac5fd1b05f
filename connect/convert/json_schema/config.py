"""Declares the settings of the JSON Schema converter.

Source: io.confluent.connect.json.JsonSchemaConverterConfig 8.3.
"""

from __future__ import annotations

from typing import Annotated

from connect.api.config import Boolean, Int, String, at_least, key, one_of
from connect.convert.json_schema.settings import JsonSchemaSettings
from connect.convert.plain.config import Coercion
from connect.convert.registry.config import SCHEMAS, RegistryConfig


class JsonSchemaConfig(RegistryConfig):
    """Declares the keys of io.confluent.connect.json.JsonSchemaConverterConfig."""

    additional_properties: Boolean = key(
        "object.additional.properties", True, group=SCHEMAS,
        doc="Let objects of the registered schema have further properties.",
    )  # fmt: skip
    optional_for_nonrequired: Boolean = key(
        "use.optional.for.nonrequired", False, group=SCHEMAS,
        doc="Read properties that the schema does not require as optional fields.",
    )  # fmt: skip
    decimal_format: Annotated[String, one_of("NUMERIC", "BASE64", ignore_case=True)] = key(
        "decimal.format", "BASE64", importance="low", group=SCHEMAS,
        doc="How decimals are written: BASE64 (of the unscaled bytes) or NUMERIC (a JSON number). Both are read.",
    )  # fmt: skip
    flatten_singleton_unions: Boolean = key(
        "flatten.singleton.unions", True, importance="low", group=SCHEMAS, doc="Read a oneOf of one type as that type.",
    )  # fmt: skip
    fail_invalid_schema: Boolean = key(
        "json.fail.invalid.schema", False, importance="low", group=SCHEMAS,
        doc="Check every row against the JSON Schema, also what its types do not say (pattern, minimum). Slow.",
    )  # fmt: skip
    cache_size: Annotated[Int, at_least(1)] = key(
        "schemas.cache.size", 1000, importance="low", group=SCHEMAS, doc="Schemas kept by the converter.",
    )  # fmt: skip
    coercion: Annotated[String, one_of(*Coercion)] = key(
        "converter.coercion", Coercion.STRICT.value, importance="low", group=SCHEMAS, internal=True,
        doc="strict: a value that does not fit its schema rejects the row. java: it is changed as Java's converter "
        "does, for example \"abc\" read as an int32 becomes 0.",
    )  # fmt: skip

    @property
    def settings(self) -> JsonSchemaSettings:
        """Return the settings that change how schemas are mapped."""
        return JsonSchemaSettings(
            numeric_decimals=self.decimal_format.upper() == "NUMERIC",
            additional_properties=self.additional_properties,
            optional_for_nonrequired=self.optional_for_nonrequired,
            generalized_sum_types=self.generalized_sum_types,
            flatten_singleton_unions=self.flatten_singleton_unions,
            ignore_default_for_nullables=self.ignore_default_for_nullables,
        )  # fmt: skip
