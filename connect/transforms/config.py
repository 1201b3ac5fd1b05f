"""The settings of the built-in transforms and predicates: keys, defaults and messages of Kafka 4.1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from connect.api.config import Boolean, Config, Int, KeyValue, ListOf, String, key, non_empty, one_of
from connect.api.errors import ConfigProblem
from connect.transforms.cast_spec import CastSpec, cast_problems
from connect.transforms.field_path import path_problems
from connect.transforms.patterns import pattern_problem, regex_problem
from connect.transforms.renames import names_of, rename_problems

_key = partial(key, width="none")
UNIX_PRECISIONS = ("nanoseconds", "microseconds", "milliseconds", "seconds")
TIME_TARGETS = ("string", "unix", "Date", "Time", "Timestamp")


def _replace_null() -> Any:
    doc = "Read the default of a field's schema in place of a null."
    return _key("replace.null.with.default", True, doc=doc, importance="medium")


def _syntax_version() -> Any:
    doc = "V1: a field of the top level by its whole name. V2: a dotted path; names with dots stand in backticks."
    return _key("field.syntax.version", "V1", doc=doc, importance="high")


def _list_problems(lists: Mapping[str, Sequence[str]]) -> Iterable[ConfigProblem]:
    """ConfigDef's validator of lists that may not be empty."""
    for name, values in lists.items():
        if not values:
            yield ConfigProblem(name, f"Invalid value [] for configuration {name}: Empty list")


def _text_problems(name: str, text: str) -> Iterable[ConfigProblem]:
    """ConfigDef's validator of texts that may not be empty."""
    if not text:
        yield ConfigProblem(name, f"Invalid value  for configuration {name}: String must be non-empty")


_EMPTY_LIST = "Empty list"
_NULL = "entry must be non null"


class _Validated(Config):
    """Settings whose validators ConfigDef runs on a missing key too, so that it has two messages."""

    _of_null: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def validate_keys(cls, properties: Mapping[str, str | None]) -> tuple[KeyValue, ...]:
        """Every setting with its value and its errors; nothing is raised."""
        values = super().validate_keys(properties)
        return tuple(
            replace(v, errors=(*v.errors, f"Invalid value null for configuration {v.name}: {cls._of_null[v.name]}"))
            if v.errors and v.name in cls._of_null and properties.get(v.name) is None
            else v
            for v in values
        )


class NoConfig(Config):
    """No settings."""


class CastConfig(Config):
    """Settings of Cast."""

    spec: ListOf = _key(
        "spec",
        doc="What becomes which type, as field:type,field:type; a type alone casts the whole key or value. Types: "
        "int8, int16, int32, int64, float32, float64, boolean, string. Bytes become strings only.",
        importance="high",
    )
    replace_null: Boolean = _replace_null()

    def problems(self) -> Iterable[ConfigProblem]:
        """What ConfigDef cannot see."""
        return cast_problems(self.spec)

    @property
    def casts(self) -> CastSpec:
        """The types by field, or the one type of the whole."""
        return CastSpec.parse(self.spec)


class DropHeadersConfig(_Validated):
    """Settings of DropHeaders."""

    _of_null: ClassVar[Mapping[str, str]] = MappingProxyType({"headers": _EMPTY_LIST})

    headers: ListOf = _key("headers", doc="Names of the headers to remove.", importance="high")

    def problems(self) -> Iterable[ConfigProblem]:
        """What ConfigDef cannot see."""
        return _list_problems({"headers": self.headers})


class ExtractFieldConfig(Config):
    """Settings of ExtractField."""

    field: String = _key("field", doc="The field that becomes the whole key or value.")
    replace_null: Boolean = _replace_null()
    syntax_version: Annotated[String, one_of("V1", "V2", ignore_case=True)] = _syntax_version()

    def problems(self) -> Iterable[ConfigProblem]:
        """What ConfigDef cannot see."""
        return path_problems(self.field, self.syntax_version)


class FlattenConfig(Config):
    """Settings of Flatten."""

    delimiter: String = _key("delimiter", ".", doc="What stands between the names of a field and its parents.")


class HeaderFromConfig(_Validated):
    """Settings of HeaderFrom."""

    _of_null: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"fields": _EMPTY_LIST, "headers": _EMPTY_LIST, "operation": "String must be one of: move, copy"}
    )

    fields: ListOf = _key("fields", doc="Fields whose values become headers.", importance="high")
    headers: ListOf = _key("headers", doc="Names of the headers, in the order of the fields.", importance="high")
    operation: Annotated[String, one_of("move", "copy")] = _key(
        "operation", doc="move: the fields are removed; copy: they stay.", importance="high"
    )
    replace_null: Boolean = _replace_null()

    def problems(self) -> Iterable[ConfigProblem]:
        """What ConfigDef cannot see."""
        yield from _list_problems({"fields": self.fields, "headers": self.headers})
        if self.fields and self.headers and len(self.fields) != len(self.headers):
            text = "'fields' config must have the same number of elements as 'headers' config."
            yield ConfigProblem("fields", text)


class HoistFieldConfig(Config):
    """Settings of HoistField."""

    field: String = _key("field", doc="The name of the one field that will hold the key or value.")


class InsertFieldConfig(Config):
    """Settings of InsertField. A name may end in ! for a required or ? for an optional field (the default)."""

    topic_field: String | None = _key("topic.field", None, doc="Field for the topic's name.")
    partition_field: String | None = _key("partition.field", None, doc="Field for the Kafka partition.")
    offset_field: String | None = _key("offset.field", None, doc="Field for the Kafka offset; sinks only.")
    timestamp_field: String | None = _key("timestamp.field", None, doc="Field for the record's timestamp.")
    static_field: String | None = _key("static.field", None, doc="Field for a value that is always the same.")
    static_value: String | None = _key("static.value", None, doc="The value of static.field.")
    replace_null: Boolean = _replace_null()

    def problems(self) -> Iterable[ConfigProblem]:
        """What ConfigDef cannot see."""
        names = (self.topic_field, self.partition_field, self.offset_field, self.timestamp_field, self.static_field)
        if all(name is None for name in names):
            yield ConfigProblem("topic.field", "No field insertion configured")


class InsertHeaderConfig(_Validated):
    """Settings of InsertHeader."""

    _of_null: ClassVar[Mapping[str, str]] = MappingProxyType({"header": _NULL, "value.literal": _NULL})

    header: String = _key("header", doc="The name of the header.", importance="high")
    literal: String = _key(
        "value.literal", doc="The header's value; its type is found from its text.", importance="high"
    )


class MaskFieldConfig(_Validated):
    """Settings of MaskField."""

    _of_null: ClassVar[Mapping[str, str]] = MappingProxyType({"fields": _EMPTY_LIST})

    fields: ListOf = _key("fields", doc="Fields to mask.", importance="high")
    replacement: String | None = _key(
        "replacement",
        None,
        doc="What numbers and texts become; default: the empty value of the type.",
        importance="low",
    )
    replace_null: Boolean = _replace_null()

    def problems(self) -> Iterable[ConfigProblem]:
        """What ConfigDef cannot see."""
        yield from _list_problems({"fields": self.fields})
        if self.replacement is not None:
            yield from _text_problems("replacement", self.replacement)


class RegexRouterConfig(Config):
    """Settings of RegexRouter."""

    regex: String = _key(
        "regex", doc="A Java regular expression that the whole topic name must match.", importance="high"
    )
    replacement: String = _key(
        "replacement", doc="The new topic name; $1 and ${name} stand for groups.", importance="high"
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """What ConfigDef cannot see."""
        problem = regex_problem("regex", self.regex)
        return () if problem is None else (problem,)


class ReplaceFieldConfig(Config):
    """Settings of ReplaceField."""

    exclude: ListOf = _key("exclude", (), doc="Fields to remove; wins over include.")
    include: ListOf = _key("include", (), doc="Fields to keep; none given: all.")
    renames: ListOf = _key("renames", (), doc="Fields to rename, as old:new.")
    replace_null: Boolean = _replace_null()

    def problems(self) -> Iterable[ConfigProblem]:
        """What ConfigDef cannot see."""
        return rename_problems("renames", self.renames)

    @property
    def new_names(self) -> Mapping[str, str]:
        """New names by old."""
        return MappingProxyType(dict(names_of(rename) for rename in self.renames))


class SetSchemaMetadataConfig(Config):
    """Settings of SetSchemaMetadata."""

    schema_name: String | None = _key("schema.name", None, doc="The schema's new name.", importance="high")
    schema_version: Int | None = _key("schema.version", None, doc="The schema's new version.", importance="high")
    replace_null: Boolean = _replace_null()

    def problems(self) -> Iterable[ConfigProblem]:
        """What ConfigDef cannot see."""
        if self.schema_name is None and self.schema_version is None:
            yield ConfigProblem("schema.name", "Neither schema name nor version configured")


class TimestampConverterConfig(Config):
    """Settings of TimestampConverter."""

    field: String = _key("field", "", doc="The field to convert; empty: the whole key or value.", importance="high")
    target_type: Annotated[String, one_of(*TIME_TARGETS)] = _key(
        "target.type", doc="string, unix, Date, Time or Timestamp.", importance="high"
    )
    format: String = _key("format", "", doc="Pattern of Java's SimpleDateFormat for strings, in UTC.")
    unix_precision: Annotated[String, one_of(*UNIX_PRECISIONS)] = _key(
        "unix.precision",
        "milliseconds",
        doc="Unit of unix times, read and written. What is finer than a millisecond is lost.",
        importance="low",
    )
    replace_null: Boolean = _replace_null()

    def problems(self) -> Iterable[ConfigProblem]:
        """What ConfigDef cannot see."""
        if self.target_type == "string" and not self.format:
            text = "TimestampConverter requires format option to be specified when using string timestamps"
            yield ConfigProblem("format", text)
        problem = pattern_problem(self.format)
        if problem is not None:
            text = "TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps: "
            cause = f"Invalid value java.lang.IllegalArgumentException: {problem} for configuration "
            yield ConfigProblem("format", f"{cause}{text}{self.format}")


class TimestampRouterConfig(Config):
    """Settings of TimestampRouter."""

    topic_format: String = _key(
        "topic.format",
        "${topic}-${timestamp}",
        doc="The new topic name; ${topic} and ${timestamp} are filled in.",
        importance="high",
    )
    timestamp_format: String = _key(
        "timestamp.format", "yyyyMMdd", doc="Pattern of Java's SimpleDateFormat, in UTC.", importance="high"
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """What ConfigDef cannot see."""
        problem = pattern_problem(self.timestamp_format)
        if problem is not None:
            yield ConfigProblem("timestamp.format", problem)


class ValueToKeyConfig(_Validated):
    """Settings of ValueToKey."""

    _of_null: ClassVar[Mapping[str, str]] = MappingProxyType({"fields": _EMPTY_LIST})

    fields: ListOf = _key("fields", doc="Fields of the value that become the key.", importance="high")
    replace_null: Boolean = _replace_null()

    def problems(self) -> Iterable[ConfigProblem]:
        """What ConfigDef cannot see."""
        return _list_problems({"fields": self.fields})


class TopicNameMatchesConfig(Config):
    """Settings of TopicNameMatches."""

    pattern: Annotated[String, non_empty] = _key(
        "pattern", doc="A Java regular expression that the whole topic name must match."
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """What ConfigDef cannot see."""
        problem = regex_problem("pattern", self.pattern)
        return () if problem is None else (problem,)


class HasHeaderKeyConfig(Config):
    """Settings of HasHeaderKey."""

    name: Annotated[String, non_empty] = _key("name", doc="The header's name.")
