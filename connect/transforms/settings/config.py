"""Declares the settings of the built-in transforms and predicates: keys, defaults and messages of Kafka 4.1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar

from connect.api.config import Boolean, Config, Int, ListOf, String, non_empty, one_of
from connect.api.errors import ConfigProblem
from connect.transforms.settings.cast_spec import CastSpec, cast_problems
from connect.transforms.settings.patterns import pattern_problem, regex_problem
from connect.transforms.settings.renames import names_of, rename_problems
from connect.transforms.settings.shared import (
    EMPTY_LIST,
    NULL,
    Validated,
    list_problems,
    paths_problems,
    replace_null_setting,
    setting,
    syntax_version_setting,
    text_problems,
)
from connect.transforms.structure.field_path import path_problems

UNIX_PRECISIONS = ("nanoseconds", "microseconds", "milliseconds", "seconds")
TIME_TARGETS = ("string", "unix", "Date", "Time", "Timestamp")


class NoConfig(Config):
    """Declares a plug-in without settings."""


class CastConfig(Config):
    """Declares the settings of Cast."""

    spec: ListOf = setting(
        "spec",
        doc="What becomes which type, as field:type,field:type; a type alone casts the whole key or value. Types: "
        "int8, int16, int32, int64, float32, float64, boolean, string. Bytes become strings only.",
        importance="high",
    )
    replace_null: Boolean = replace_null_setting()
    syntax_version: Annotated[String, one_of("V1", "V2", ignore_case=True)] = syntax_version_setting(ours=True)

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        yield from cast_problems(self.spec)
        yield from paths_problems(self.syntax_version, "spec", (one.rpartition(":")[0] for one in self.spec))

    @property
    def casts(self) -> CastSpec:
        """Return the types of fields by name, or the type that the whole key or value gets."""
        return CastSpec.parse(self.spec)

    @property
    def nested(self) -> bool:
        """Tell if names of fields are dotted paths."""
        return self.syntax_version.upper() == "V2"


class DropHeadersConfig(Validated):
    """Declares the settings of DropHeaders."""

    of_null: ClassVar[Mapping[str, str]] = MappingProxyType({"headers": EMPTY_LIST})

    headers: ListOf = setting("headers", doc="Names of the headers to remove.", importance="high")

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        return list_problems({"headers": self.headers})


class ExtractFieldConfig(Config):
    """Declares the settings of ExtractField."""

    field: String = setting("field", doc="The field that becomes the whole key or value.")
    replace_null: Boolean = replace_null_setting()
    syntax_version: Annotated[String, one_of("V1", "V2", ignore_case=True)] = syntax_version_setting()

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        return path_problems(self.field, self.syntax_version)


class FlattenConfig(Config):
    """Declares the settings of Flatten."""

    delimiter: String = setting("delimiter", ".", doc="What stands between the names of a field and its parents.")


class HeaderFromConfig(Validated):
    """Declares the settings of HeaderFrom."""

    of_null: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"fields": EMPTY_LIST, "headers": EMPTY_LIST, "operation": "String must be one of: move, copy"}
    )

    fields: ListOf = setting("fields", doc="Fields whose values become headers.", importance="high")
    headers: ListOf = setting("headers", doc="Names of the headers, in the order of the fields.", importance="high")
    operation: Annotated[String, one_of("move", "copy")] = setting(
        "operation", doc="move: the fields are removed; copy: they stay.", importance="high"
    )
    replace_null: Boolean = replace_null_setting()
    syntax_version: Annotated[String, one_of("V1", "V2", ignore_case=True)] = syntax_version_setting(ours=True)

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        yield from list_problems({"fields": self.fields, "headers": self.headers})
        if self.fields and self.headers and len(self.fields) != len(self.headers):
            text = "'fields' config must have the same number of elements as 'headers' config."
            yield ConfigProblem("fields", text)

    @property
    def nested(self) -> bool:
        """Tell if names of fields are dotted paths."""
        return self.syntax_version.upper() == "V2"


class HoistFieldConfig(Config):
    """Declares the settings of HoistField."""

    field: String = setting("field", doc="The name of the one field that will hold the key or value.")


class InsertFieldConfig(Config):
    """Declares the settings of InsertField.

    A name may end in ! for a required or ? for an optional field (the default).
    """

    topic_field: String | None = setting("topic.field", None, doc="Field for the topic's name.")
    partition_field: String | None = setting("partition.field", None, doc="Field for the Kafka partition.")
    offset_field: String | None = setting("offset.field", None, doc="Field for the Kafka offset; sinks only.")
    timestamp_field: String | None = setting("timestamp.field", None, doc="Field for the record's timestamp.")
    static_field: String | None = setting("static.field", None, doc="Field for a value that is always the same.")
    static_value: String | None = setting("static.value", None, doc="The value of static.field.")
    replace_null: Boolean = replace_null_setting()
    syntax_version: Annotated[String, one_of("V1", "V2", ignore_case=True)] = syntax_version_setting(ours=True)

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        names = (self.topic_field, self.partition_field, self.offset_field, self.timestamp_field, self.static_field)
        if all(name is None for name in names):
            yield ConfigProblem("topic.field", "No field insertion configured")

    @property
    def nested(self) -> bool:
        """Tell if names of fields are dotted paths."""
        return self.syntax_version.upper() == "V2"


class InsertHeaderConfig(Validated):
    """Declares the settings of InsertHeader."""

    of_null: ClassVar[Mapping[str, str]] = MappingProxyType({"header": NULL, "value.literal": NULL})

    header: String = setting("header", doc="The name of the header.", importance="high")
    literal: String = setting(
        "value.literal", doc="The header's value; its type is found from its text.", importance="high"
    )


class MaskFieldConfig(Validated):
    """Declares the settings of MaskField."""

    of_null: ClassVar[Mapping[str, str]] = MappingProxyType({"fields": EMPTY_LIST})

    fields: ListOf = setting("fields", doc="Fields to mask.", importance="high")
    replacement: String | None = setting(
        "replacement",
        None,
        doc="What numbers and texts become; default: the empty value of the type.",
        importance="low",
    )
    replace_null: Boolean = replace_null_setting()
    syntax_version: Annotated[String, one_of("V1", "V2", ignore_case=True)] = syntax_version_setting(ours=True)

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        yield from list_problems({"fields": self.fields})
        yield from paths_problems(self.syntax_version, "fields", self.fields)
        if self.replacement is not None:
            yield from text_problems("replacement", self.replacement)

    @property
    def nested(self) -> bool:
        """Tell if names of fields are dotted paths."""
        return self.syntax_version.upper() == "V2"


class RegexRouterConfig(Config):
    """Declares the settings of RegexRouter."""

    regex: String = setting(
        "regex", doc="A Java regular expression that the whole topic name must match.", importance="high"
    )
    replacement: String = setting(
        "replacement", doc="The new topic name; $1 and ${name} stand for groups.", importance="high"
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        problem = regex_problem("regex", self.regex)
        return () if problem is None else (problem,)


class ReplaceFieldConfig(Config):
    """Declares the settings of ReplaceField."""

    # Kafka 4 has removed the former names of these keys: there they drop no field, while Kafka 3 dropped them.
    exclude: ListOf = setting("exclude", (), doc="Fields to remove; wins over include.", former=("blacklist",))
    include: ListOf = setting("include", (), doc="Fields to keep; none given: all.", former=("whitelist",))
    renames: ListOf = setting("renames", (), doc="Fields to rename, as old:new.")
    replace_null: Boolean = replace_null_setting()
    syntax_version: Annotated[String, one_of("V1", "V2", ignore_case=True)] = syntax_version_setting(ours=True)

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        yield from rename_problems("renames", self.renames)
        renamed = [name for rename in self.renames for name in names_of(rename)[:1]]
        for key, names in (("exclude", self.exclude), ("include", self.include), ("renames", renamed)):
            yield from paths_problems(self.syntax_version, key, names)

    @property
    def new_names(self) -> Mapping[str, str]:
        """Return the new name of each field that is renamed, by its old name."""
        return MappingProxyType(dict(names_of(rename) for rename in self.renames))

    @property
    def nested(self) -> bool:
        """Tell if names of fields are dotted paths."""
        return self.syntax_version.upper() == "V2"


class SetSchemaMetadataConfig(Config):
    """Declares the settings of SetSchemaMetadata."""

    schema_name: String | None = setting("schema.name", None, doc="The schema's new name.", importance="high")
    schema_version: Int | None = setting("schema.version", None, doc="The schema's new version.", importance="high")
    replace_null: Boolean = replace_null_setting()

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        if self.schema_name is None and self.schema_version is None:
            yield ConfigProblem("schema.name", "Neither schema name nor version configured")


class TimestampConverterConfig(Config):
    """Declares the settings of TimestampConverter."""

    field: String = setting("field", "", doc="The field to convert; empty: the whole key or value.", importance="high")
    target_type: Annotated[String, one_of(*TIME_TARGETS)] = setting(
        "target.type", doc="string, unix, Date, Time or Timestamp.", importance="high"
    )
    format: String = setting("format", "", doc="Pattern of Java's SimpleDateFormat for strings, in UTC.")
    unix_precision: Annotated[String, one_of(*UNIX_PRECISIONS)] = setting(
        "unix.precision",
        "milliseconds",
        doc="Unit of unix times, read and written. What is finer than a millisecond is lost.",
        importance="low",
    )
    replace_null: Boolean = replace_null_setting()
    syntax_version: Annotated[String, one_of("V1", "V2", ignore_case=True)] = syntax_version_setting(ours=True)

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        if self.target_type == "string" and not self.format:
            text = "TimestampConverter requires format option to be specified when using string timestamps"
            yield ConfigProblem("format", text)
        problem = pattern_problem(self.format)
        if problem is not None:
            text = "TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps: "
            cause = f"Invalid value java.lang.IllegalArgumentException: {problem} for configuration "
            yield ConfigProblem("format", f"{cause}{text}{self.format}")

    @property
    def nested(self) -> bool:
        """Tell if names of fields are dotted paths."""
        return self.syntax_version.upper() == "V2"


class TimestampRouterConfig(Config):
    """Declares the settings of TimestampRouter."""

    topic_format: String = setting(
        "topic.format",
        "${topic}-${timestamp}",
        doc="The new topic name; ${topic} and ${timestamp} are filled in.",
        importance="high",
    )
    timestamp_format: String = setting(
        "timestamp.format", "yyyyMMdd", doc="Pattern of Java's SimpleDateFormat, in UTC.", importance="high"
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        problem = pattern_problem(self.timestamp_format)
        if problem is not None:
            yield ConfigProblem("timestamp.format", problem)


class ValueToKeyConfig(Validated):
    """Declares the settings of ValueToKey."""

    of_null: ClassVar[Mapping[str, str]] = MappingProxyType({"fields": EMPTY_LIST})

    fields: ListOf = setting("fields", doc="Fields of the value that become the key.", importance="high")
    replace_null: Boolean = replace_null_setting()
    syntax_version: Annotated[String, one_of("V1", "V2", ignore_case=True)] = syntax_version_setting(ours=True)

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        yield from list_problems({"fields": self.fields})
        yield from paths_problems(self.syntax_version, "fields", self.fields)

    @property
    def nested(self) -> bool:
        """Tell if names of fields are dotted paths."""
        return self.syntax_version.upper() == "V2"


class TopicNameMatchesConfig(Config):
    """Declares the settings of TopicNameMatches."""

    pattern: Annotated[String, non_empty] = setting(
        "pattern", doc="A Java regular expression that the whole topic name must match."
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        problem = regex_problem("pattern", self.pattern)
        return () if problem is None else (problem,)


class HasHeaderKeyConfig(Config):
    """Declares the settings of HasHeaderKey."""

    name: Annotated[String, non_empty] = setting("name", doc="The header's name.")
