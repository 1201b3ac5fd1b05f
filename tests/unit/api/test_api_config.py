"""A declaration reads what Kafka Connect's ConfigDef reads, and says what ConfigDef says."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.api.allowed import ConfigType
from connect.api.config import (
    Boolean,
    Config,
    Double,
    Int,
    ListOf,
    Long,
    Password,
    Short,
    String,
    at_least,
    between,
    key,
    non_empty,
    one_of,
    text_of,
)
from connect.api.errors import ConfigError, ConfigProblem
from connect.lib.secrets import HIDDEN

SECRET = "hunter2"
BLANK = "".join(map(chr, range(33)))


class Settings(Config):
    url: String = key("url", doc="Where to read.", importance="high", dependents=("mode",))
    rows: Annotated[Int, at_least(1)] = key("batch.rows", 100, doc="Rows per batch.")
    share: Annotated[Double, between(0, 1)] = key("share", 0.5, doc="Share of rows.")
    on: Boolean = key("on", True, doc="Whether to run.")
    names: ListOf = key("names", ("a", "b"), doc="What to read.")
    mode: Annotated[String, one_of("bulk", "log", ignore_case=True)] = key("mode", "bulk", doc="How to read.")
    small: Short = key("small", 1, doc="A short number.")
    large: Long = key("large", 2**40, doc="A long number.")
    user: Annotated[String, non_empty] | None = key("user", None, doc="Who reads.")
    password: Password | None = key("password", None, doc="The secret of the user.")
    inner: String = key("inner", "x", doc="Not for people.", internal=True)

    def problems(self) -> Iterable[ConfigProblem]:
        if self.password is not None and self.user is None:
            yield ConfigProblem("user", "password needs user.")


def messages(properties: dict) -> dict[str, str]:
    with pytest.raises(ConfigError) as caught:
        Settings.parse(properties)
    return {p.key: p.message for p in caught.value.problems}


def test_values_are_read_from_text() -> None:
    given = {"url": " x ", "batch.rows": " 7", "on": "FALSE", "names": "p, q ,r", "mode": "LOG", "share": "0.25"}
    read = Settings.parse(given)
    assert (read.url, read.rows, read.on, read.names, read.mode, read.share) == (
        "x",
        7,
        False,
        ("p", "q", "r"),
        "LOG",
        0.25,
    )


def test_a_secret_loses_the_line_end_of_the_file_it_came_from() -> None:
    read = Settings.parse({"url": "x", "user": "u", "password": f" {SECRET}\r\n"})
    assert read.password is not None
    assert read.password.get_secret_value() == SECRET


def test_what_java_trims_is_taken_away_and_no_other_space() -> None:
    read = Settings.parse({"url": "\x00x\u2003\x1f", "names": "\ta\u00a0,\nb", "share": "0x1p-2"})
    assert (read.url, read.names, read.share) == ("x\u2003", ("a\u00a0", "b"), 0.25)


def test_an_empty_list_has_no_parts_and_null_is_not_given() -> None:
    assert Settings.parse({"url": "x", "names": ""}).names == ()
    assert Settings.parse({"url": "x", "batch.rows": None}).rows == 100


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("batch.rows", "ten", "Not a number of type INT"),
        ("batch.rows", str(2**31), "Not a number of type INT"),
        ("batch.rows", "0", "Value must be at least 1"),
        ("small", "32768", "Not a number of type SHORT"),
        ("large", str(2**63), "Not a number of type LONG"),
        ("batch.rows", "1_0", "Not a number of type INT"),
        ("share", "1_0", "Not a number of type DOUBLE"),
        ("share", "much", "Not a number of type DOUBLE"),
        ("share", "1.5", "Value must be no more than 1"),
        ("on", "yes", "Expected value to be either true or false"),
        ("mode", "push", "String must be one of (case insensitive): bulk, log"),
        ("user", "", "String must be non-empty"),
    ],
)
def test_a_bad_value_is_told_in_the_words_of_config_def(name: str, value: str, why: str) -> None:
    assert messages({"url": "x", name: value}) == {name: f"Invalid value {value} for configuration {name}: {why}"}


def test_a_missing_key_is_told_in_the_words_of_config_def() -> None:
    assert messages({}) == {"url": 'Missing required configuration "url" which has no default value.'}


def test_all_broken_keys_are_told_at_once() -> None:
    assert set(messages({"batch.rows": "x", "on": "x", "mode": "x"})) == {"url", "batch.rows", "on", "mode"}


def test_rules_between_keys_are_asked_when_every_key_is_right() -> None:
    assert messages({"url": "x", "password": SECRET}) == {"user": "password needs user."}


def test_a_secret_is_shown_nowhere() -> None:
    broken = {"url": "x", "password": SECRET, "batch.rows": "x"}
    with pytest.raises(ConfigError) as caught:
        Settings.parse(broken)
    read = Settings.parse({"url": "x", "password": SECRET, "user": "me"})
    shown = [str(caught.value), repr(caught.value), repr(read), str(read), repr(Settings.validate_keys(broken))]
    assert [text for text in shown if SECRET in text] == []
    assert read.password is not None
    assert read.password.get_secret_value() == SECRET


def test_validation_gives_every_key_its_value_and_its_errors() -> None:
    found = {v.name: v for v in Settings.validate_keys({"batch.rows": "x", "password": SECRET})}
    assert found["url"].value is None
    assert found["url"].errors == ('Missing required configuration "url" which has no default value.',)
    assert found["batch.rows"].value == "x"
    assert found["names"].value == "a,b"
    assert found["password"].value == HIDDEN
    assert found["mode"].recommended_values == ("bulk", "log")


def test_definitions_say_what_was_declared() -> None:
    found = {d.name: d for d in Settings.definitions()}
    assert list(found)[:3] == ["url", "batch.rows", "share"]
    assert found["url"].required
    assert found["url"].default is None
    assert found["url"].importance == "HIGH"
    assert found["url"].dependents == ("mode",)
    assert found["on"].default == "true"
    assert found["password"].type is ConfigType.PASSWORD
    assert found["user"].type is ConfigType.STRING
    assert found["inner"].internal
    assert not found["url"].internal


def test_an_unknown_key_is_accepted_and_named() -> None:
    read = Settings.parse({"url": "x", "batch.row": "1", "producer.acks": "all"})
    assert [*Settings.unknown_keys(read.originals)] == ["batch.row", "producer.acks"]
    assert read.with_prefix("producer.") == {"acks": "all"}


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_long_is_read_back_from_its_text(number: int) -> None:
    assert Settings.parse({"url": "x", "large": text_of(number)}).large == number


@given(st.text())
def test_any_text_is_read_or_refused_with_its_key(text: str) -> None:
    value = next(v for v in Settings.validate_keys({"url": "x", "batch.rows": text}) if v.name == "batch.rows")
    if value.errors:
        assert value.errors[0].startswith(f"Invalid value {text} for configuration batch.rows: ")
    else:
        assert Settings.parse({"url": "x", "batch.rows": text}).rows == int(text.strip(BLANK))


def test_values_are_frozen() -> None:
    read = Settings.parse({"url": "x"})
    with pytest.raises(ValueError, match="frozen"):
        read.rows = 5
    with pytest.raises(TypeError):
        read.originals["url"] = "y"


@pytest.mark.parametrize(
    ("value", "text"), [(None, None), (True, "true"), (("a", 1), "a,1"), (5, "5"), (0.5, "0.5"), ("x", "x")]
)
def test_the_text_of_a_value(value: object, text: str | None) -> None:
    assert text_of(value) == text
