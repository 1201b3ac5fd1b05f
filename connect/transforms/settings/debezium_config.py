"""Declares the settings of Debezium's transforms that route: Debezium 3's keys and defaults. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from connect.api.config import Boolean, Config, Int, String, at_least, non_empty, one_of
from connect.api.errors import ConfigProblem
from connect.transforms.settings.patterns import regex_problem
from connect.transforms.settings.shared import setting


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
