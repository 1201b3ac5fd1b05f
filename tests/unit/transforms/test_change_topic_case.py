"""ChangeTopicCase renames topics as Guava's CaseFormat does, whose own tests say what becomes of these names."""

from __future__ import annotations

import pytest
from both_forms import batch_of
from hypothesis import given
from hypothesis import strategies as st

from connect.api.errors import ConfigError
from connect.api.records import Batch, Column
from connect.lib.javatext.case_format import CASES, changed_case
from connect.plugins.catalog import Catalog

CLASS = "com.github.jcustenborder.kafka.connect.transform.common.ChangeTopicCase"
WORDS = st.lists(st.text("abcxyz", min_size=1, max_size=4), min_size=1, max_size=4)


def applied(name: str, batch: Batch, **given: str) -> list[Batch]:
    catalog = Catalog.installed()
    plugin = catalog.find(name)
    assert plugin is not None
    made: list[Batch] = catalog.load(plugin)(plugin.config.parse(given)).apply(batch)
    return made


@pytest.mark.parametrize(
    ("source", "target", "name", "expected"),
    [
        ("LOWER_HYPHEN", "UPPER_CAMEL", "foo-bar", "FooBar"), ("LOWER_HYPHEN", "LOWER_CAMEL", "foo-bar", "fooBar"),
        ("LOWER_HYPHEN", "UPPER_UNDERSCORE", "foo-bar", "FOO_BAR"),
        ("LOWER_CAMEL", "LOWER_HYPHEN", "HTTP", "h-t-t-p"), ("LOWER_CAMEL", "LOWER_UNDERSCORE", "user_id", "user_id"),
        ("LOWER_CAMEL", "UPPER_CAMEL", "hTTP", "HTTP"), ("UPPER_CAMEL", "LOWER_UNDERSCORE", "FooBar", "foo_bar"),
        ("UPPER_UNDERSCORE", "LOWER_CAMEL", "FOO_BAR", "fooBar"), ("LOWER_CAMEL", "LOWER_CAMEL", "fooBar", "fooBar"),
        ("UPPER_UNDERSCORE", "LOWER_HYPHEN", "FOO_BAR", "foo-bar"), ("LOWER_HYPHEN", "LOWER_UNDERSCORE", "A-b", "A_b"),
        ("LOWER_UNDERSCORE", "UPPER_UNDERSCORE", "é_b", "é_B"), ("UPPER_CAMEL", "LOWER_HYPHEN", "", ""),
    ],
)  # fmt: skip
def test_a_name_becomes_what_it_becomes_in_guava(source: str, target: str, name: str, expected: str) -> None:
    assert changed_case(name, source, target) == expected


@given(WORDS, st.sampled_from(sorted(CASES)), st.sampled_from(sorted(CASES)))
def test_a_name_of_lower_words_comes_back(words: list[str], there: str, back: str) -> None:
    start = changed_case("-".join(words), "LOWER_HYPHEN", back)
    assert changed_case(changed_case(start, back, there), there, back) == start


def test_the_batch_goes_to_the_new_topic_with_all_its_rows() -> None:
    batch = batch_of(Column.from_rows([{"a": 1}, None], None))
    [made] = applied(CLASS, batch, **{"from": "LOWER_CAMEL", "to": "UPPER_UNDERSCORE"})
    assert made.topic == changed_case(batch.topic, "LOWER_CAMEL", "UPPER_UNDERSCORE") != batch.topic
    assert list(made.values.rows()) == [{"a": 1}, None]


def test_another_case_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="UPPER_HYPHEN"):
        applied(CLASS, batch_of(Column.from_rows([1], None)), **{"from": "LOWER_HYPHEN", "to": "UPPER_HYPHEN"})


def test_debeziums_open_lineage_changes_no_record() -> None:
    batch = batch_of(Column.from_rows([{"a": 1}, None], None))
    [made] = applied("io.debezium.transforms.openlineage.OpenLineage", batch)
    assert made is batch
