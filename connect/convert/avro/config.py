"""Declares the settings of the Avro converter. Source: io.confluent.connect.avro.AvroDataConfig 8.3."""

from __future__ import annotations

from typing import Annotated

from connect.api.config import Boolean, Int, at_least, key
from connect.convert.avro.settings import AvroSettings
from connect.convert.registry.config import SCHEMAS, RegistryConfig


class AvroConfig(RegistryConfig):
    """Declares the keys of io.confluent.connect.avro.AvroConverterConfig."""

    enhanced: Boolean = key(
        "enhanced.avro.schema.support", False, group=SCHEMAS,
        doc="Keep the symbols of enums, and the namespace in the names of a union's members.",
    )  # fmt: skip
    meta_data: Boolean = key(
        "connect.meta.data", True, importance="low", group=SCHEMAS,
        doc="Write Connect's names, versions, parameters and defaults into the Avro schema, as connect.* properties.",
    )  # fmt: skip
    scrub_invalid_names: Boolean = key(
        "scrub.invalid.names", False, group=SCHEMAS, doc="Replace what is not valid in an Avro name, as in `a-b`.",
    )  # fmt: skip
    allow_optional_map_keys: Boolean = key(
        "allow.optional.map.keys", False, importance="low", group=SCHEMAS,
        doc="Write a map of optional strings as an Avro map.",
    )  # fmt: skip
    flatten_singleton_unions: Boolean = key(
        "flatten.singleton.unions", True, importance="low", group=SCHEMAS,
        doc="Read a union of one type as that type.",
    )  # fmt: skip
    discard_type_doc_default: Boolean = key(
        "discard.type.doc.default", False, importance="low", group=SCHEMAS,
        doc="Keep only the documentation and defaults of fields.",
    )  # fmt: skip
    cache_size: Annotated[Int, at_least(1)] = key(
        "schemas.cache.config", 1000, importance="low", group=SCHEMAS, doc="Schemas kept by the converter.",
    )  # fmt: skip

    @property
    def settings(self) -> AvroSettings:
        """Return the settings that change how schemas are mapped."""
        return AvroSettings(
            enhanced=self.enhanced, meta_data=self.meta_data, scrub_invalid_names=self.scrub_invalid_names,
            allow_optional_map_keys=self.allow_optional_map_keys,
            flatten_singleton_unions=self.flatten_singleton_unions,
            generalized_sum_types=self.generalized_sum_types,
            discard_type_doc_default=self.discard_type_doc_default,
            ignore_default_for_nullables=self.ignore_default_for_nullables,
        )  # fmt: skip
