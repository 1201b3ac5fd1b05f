"""Declares the settings of Debezium's transforms that route: Debezium 3's keys and defaults. No I/O."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Final, NamedTuple

from connect.api.config import Boolean, Config, Int, ListOf, String, at_least, non_empty, one_of
from connect.api.errors import ConfigProblem
from connect.lib.setting_text import named_zone
from connect.transforms.settings.patterns import regex_problem
from connect.transforms.settings.shared import list_problems, setting

_OFFSET: Final = re.compile(r"[+-]\d\d:\d\d(:\d\d)?")
_RULE: Final = re.compile(r"[\w.\"\s]+(:[\w.\"\s]+){0,2}")


class ByLogicalTableRouterConfig(Config):
    """Declares the settings of io.debezium.transforms.ByLogicalTableRouter."""

    topic_regex: Annotated[String, non_empty] = setting(
        "topic.regex", doc="A Java regular expression; topics that it matches as a whole get another name.",
        importance="low",
    )  # fmt: skip
    topic_replacement: Annotated[String, non_empty] = setting(
        "topic.replacement", doc="The new topic; $1 and ${name} stand for groups.", importance="low"
    )
    has_key_field: Boolean = setting(
        "key.enforce.uniqueness", True, importance="low",
        doc="Add a field to the key that names the table, so that equal keys of several tables stay apart.",
    )  # fmt: skip
    key_field_name: Annotated[String, non_empty] = setting(
        "key.field.name", "__dbz__physicalTableIdentifier", doc="The field that is added.", importance="low"
    )
    key_field_regex: String = setting(
        "key.field.regex", "", importance="low",
        doc="A Java regular expression for the former topic, to make the added field's value; without it, or where it "
        "does not match, the value is the former topic.",
    )  # fmt: skip
    key_field_replacement: String = setting(
        "key.field.replacement", "", doc="The added field's value; $1 and ${name} stand for groups.", importance="low"
    )
    adjustment: Annotated[String, one_of("none", "avro")] = setting(
        "schema.name.adjustment.mode", "none", importance="low",
        doc="avro: what Avro does not allow in names of schemas becomes an underscore.",
    )  # fmt: skip
    cache_size: Annotated[Int, at_least(1)] = setting(
        "logical.table.cache.size", 16, doc="How many topics' new names are kept.", importance="low"
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        for key, regex in (("topic.regex", self.topic_regex), ("key.field.regex", self.key_field_regex)):
            problem = regex_problem(key, regex)
            if problem is not None:
                yield problem
        if self.key_field_regex.strip() and not self.key_field_replacement.strip():
            yield ConfigProblem(
                "key.field.replacement", "key.field.replacement must be non-empty if key.field.regex is set."
            )


class ExtractChangedRecordStateConfig(Config):
    """Declares the settings of io.debezium.transforms.ExtractChangedRecordState."""

    changed_header: String = setting(
        "header.changed.name", "", importance="low",
        doc="The header that lists the columns that an update changed; without it none.",
    )  # fmt: skip
    unchanged_header: String = setting(
        "header.unchanged.name", "", importance="low", doc="Likewise of the columns that it left as they were."
    )


class HeaderToValueConfig(Config):
    """Declares the settings of io.debezium.transforms.HeaderToValue."""

    headers: ListOf = setting(
        "headers", doc="The headers that become fields.", importance="high", harmless="names of headers"
    )
    fields: ListOf = setting(
        "fields", importance="high", harmless="names of fields",
        doc="The field of each header, in the same order; a dotted path leads into structs of the value.",
    )  # fmt: skip
    operation: Annotated[String, one_of("move", "copy")] = setting(
        "operation", doc="move: take the headers off the record; copy: leave them.", importance="high"
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        yield from list_problems({"headers": self.headers, "fields": self.fields})
        if len(self.headers) != len(self.fields):
            yield ConfigProblem(
                "fields", f"fields must name a field for each header: it has {len(self.fields)}, and headers "
                f"{len(self.headers)}.",
            )  # fmt: skip
        for name, values in (("headers", self.headers), ("fields", self.fields)):
            bad = [value for value in values if not value or " " in value]
            if bad:
                yield ConfigProblem(name, f"{name} must have no empty elements and no spaces: {bad[0]!r} has.")
        for field in self.fields:
            if not all(field.split(".")):
                yield ConfigProblem("fields", f"fields: {field} has an empty step between its dots.")


class PartitionRoutingConfig(Config):
    """Declares the settings of io.debezium.transforms.partitions.PartitionRouting."""

    fields: ListOf = setting(
        "partition.payload.fields", importance="high", harmless="names of fields",
        doc="Fields of the change event whose hash tells the partition, as after.name or source.table; change.name is "
        "after.name, and of deletes before.name. Fields that an event does not have are left out.",
    )  # fmt: skip
    count: Annotated[Int, at_least(1)] = setting(
        "partition.topic.num", doc="How many partitions the topic has.", importance="high"
    )
    hash_function: Annotated[String, one_of("java", "murmur")] = setting(
        "partition.hash.function", "java", importance="low", doc="java: by hashCode of Java; murmur is not known here."
    )

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        yield from list_problems({"partition.payload.fields": self.fields})
        if self.hash_function != "java":
            yield ConfigProblem(
                "partition.hash.function", "partition.hash.function=murmur is not known here. Use java: rows of a key "
                "go to another partition than before.",
            )  # fmt: skip


class ZoneRule(NamedTuple):
    """Holds one rule of a list. `prefix` is topic, source or empty; an empty `field` stands for all fields with
    times.
    """

    prefix: str
    name: str
    field: str


class TimezoneConverterConfig(Config):
    """Declares the settings of io.debezium.transforms.TimezoneConverter."""

    timezone: Annotated[String, non_empty] = setting(
        "converted.timezone", doc="The zone, as America/New_York, or its offset, as +08:00.", importance="high"
    )
    include_list: ListOf = setting(
        "include.list", (), importance="high", harmless="names of tables, topics and fields",
        doc="What is converted, and nothing else: source:TABLE, source:TABLE:FIELD, topic:TOPIC, topic:TOPIC:FIELD or "
        "NAME:FIELD, where the name is of a topic or a table.",
    )  # fmt: skip
    exclude_list: ListOf = setting(
        "exclude.list", (), importance="high", harmless="names of tables, topics and fields",
        doc="Likewise, of what is not converted, while all else is.",
    )  # fmt: skip

    def problems(self) -> Iterable[ConfigProblem]:
        """Return the problems that ConfigDef cannot see."""
        try:
            _zone_of(self.timezone)
        except ValueError:
            yield ConfigProblem(
                "converted.timezone", f"{self.timezone[:100]} is no zone. Give one as America/New_York, or an offset "
                "as +08:00.",
            )  # fmt: skip
        if self.include_list and self.exclude_list:
            yield ConfigProblem("exclude.list", "include.list and exclude.list exclude each other. Give one of them.")
        for name, rules in (("include.list", self.include_list), ("exclude.list", self.exclude_list)):
            bad = [rule for rule in rules if _RULE.fullmatch(rule) is None]
            if bad or (rules and ":" not in rules[0]):
                yield ConfigProblem(
                    name, f"{name}: {(bad or rules)[0]} is no rule. Give source:TABLE:FIELD, topic:TOPIC:FIELD or "
                    "NAME:FIELD; with a prefix the field may be left out.",
                )  # fmt: skip

    @property
    def zone(self) -> dt.tzinfo:
        """Return the zone. ValueError: there is no zone of this name."""
        return _zone_of(self.timezone)

    @property
    def include(self) -> Sequence[ZoneRule]:
        """Return the rules of include.list."""
        return _rules(self.include_list)

    @property
    def exclude(self) -> Sequence[ZoneRule]:
        """Return the rules of exclude.list."""
        return _rules(self.exclude_list)


def _rules(texts: Sequence[str]) -> Sequence[ZoneRule]:
    """Return the rules of a list. A rule without a prefix gets the one of the last rule before it that has one."""
    made, last = [], ""
    for text in texts:
        parts = text.split(":")
        if len(parts) > 1 and parts[0].lower() in {"source", "topic"}:
            last, *parts = parts
        made.append(ZoneRule(last, parts[0], parts[1] if len(parts) > 1 else ""))
    return made


def _zone_of(name: str) -> dt.tzinfo:
    """Return the zone of an IANA name, or of an offset such as +08:00. ValueError: there is no such zone."""
    if not _OFFSET.fullmatch(name):
        return named_zone(name)
    moment = dt.datetime.fromisoformat(f"1970-01-01T00:00:00{name}")
    assert moment.tzinfo is not None
    return moment.tzinfo
