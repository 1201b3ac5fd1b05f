"""Declares the settings of the Protobuf converter. Source: io.confluent.connect.protobuf.ProtobufDataConfig 8.3."""

from __future__ import annotations

from typing import Annotated

from connect.api.config import Boolean, Int, String, at_least, key, one_of
from connect.convert.plain.config import Coercion
from connect.convert.protobuf.settings import ProtobufSettings
from connect.convert.registry.config import SCHEMAS, RegistryConfig, only


class ProtobufConfig(RegistryConfig):
    """Declares the keys of io.confluent.connect.protobuf.ProtobufConverterConfig."""

    enhanced: Boolean = key(
        "enhanced.protobuf.schema.support", False, group=SCHEMAS, doc="Keep the package in the names of schemas.",
    )  # fmt: skip
    scrub_invalid_names: Boolean = key(
        "scrub.invalid.names", False, group=SCHEMAS, doc="Replace what is not valid in a Protobuf name, as in `a-b`.",
    )  # fmt: skip
    int_for_enums: Boolean = key(
        "int.for.enums", False, group=SCHEMAS, doc="Read enums as their numbers, not as text.",
    )  # fmt: skip
    optional_for_nullables: Boolean = key(
        "optional.for.nullables", False, group=SCHEMAS,
        doc="Write nullable fields as `optional`, so that null and zero stay apart, and read only those as nullable.",
    )  # fmt: skip
    optional_for_proto2: Boolean = key(
        "optional.for.proto2", True, importance="low", group=SCHEMAS, doc="Read absent proto2 fields as null.",
    )  # fmt: skip
    wrapper_for_nullables: Boolean = key(
        "wrapper.for.nullables", False, group=SCHEMAS,
        doc="Write nullable fields as google.protobuf.Int32Value and the like, and read those as nullable fields.",
    )  # fmt: skip
    wrapper_for_raw_primitives: Annotated[Boolean, only(True, "Records alone are no choice here.")] = key(
        "wrapper.for.raw.primitives", True, importance="low", group=SCHEMAS,
        doc="Write values that are no records as google.protobuf.Int32Value and the like.",
    )  # fmt: skip
    struct_for_nulls: Annotated[Boolean, only(False, "A null record in a record is left out, and read as null.")] = key(
        "generate.struct.for.nulls", False, importance="low", group=SCHEMAS,
        doc="Not supported: read an absent record as one of defaults.",
    )  # fmt: skip
    index_for_unions: Boolean = key(
        "generate.index.for.unions", True, importance="low", group=SCHEMAS,
        doc="Give the field of a oneof the oneof's index as a suffix.",
    )  # fmt: skip
    flatten_unions: Boolean = key(
        "flatten.unions", False, group=SCHEMAS, doc="Read the members of a oneof as fields of the message itself.",
    )  # fmt: skip
    cache_size: Annotated[Int, at_least(1)] = key(
        "schemas.cache.config", 1000, importance="low", group=SCHEMAS, doc="Schemas kept by the converter.",
    )  # fmt: skip
    coercion: Annotated[String, one_of(*Coercion)] = key(
        "converter.coercion", Coercion.STRICT.value, importance="low", group=SCHEMAS, internal=True,
        doc="strict: a null that Protobuf could not tell from zero rejects the row, and so does a time "
        "finer than milliseconds. java: the null is left out, and read as zero, and the time is cut, as Java's "
        "converter does.",
    )  # fmt: skip

    @property
    def settings(self) -> ProtobufSettings:
        """Return the settings that change how schemas are mapped."""
        return ProtobufSettings(
            enhanced=self.enhanced, scrub_invalid_names=self.scrub_invalid_names, int_for_enums=self.int_for_enums,
            optional_for_nullables=self.optional_for_nullables, optional_for_proto2=self.optional_for_proto2,
            wrapper_for_nullables=self.wrapper_for_nullables, index_for_unions=self.index_for_unions,
            flatten_unions=self.flatten_unions, generalized_sum_types=self.generalized_sum_types,
            ignore_default_for_nullables=self.ignore_default_for_nullables, java=self.coercion == Coercion.JAVA,
        )  # fmt: skip
