"""A regular expression is matched as Python's own library matches it, within a time limit and beside other threads."""

from __future__ import annotations

import re
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.lib.javatext import timed_pattern
from connect.lib.javatext.regex import JavaPatternError, compile_pattern
from connect.lib.javatext.timed_pattern import PatternTimeoutError, TimedPattern, written_out

SLOW = ["(a|aa)+b", "((a|aa)+)+b", "(?i)(a|aa)+b"]
ATOMS = ["a", "b", "A", "é", "1", "-", "_", ".", r"\.", r"\w", r"\W", r"\d", r"\s", r"\b", "[ab]", "[^a]", "[a-c1-9.]",
         "(?:", "(", ")", "|", "*", "+", "?", "*?", "{2}", "{1,2}", "^", "$", r"\1",
         "(?=", "(?!", "(?<!", "(?i:"]  # fmt: skip


@pytest.mark.parametrize("text", SLOW)
def test_a_match_without_an_end_is_given_up_by_name(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_pattern, "MATCH_CPU_S", 0.05)
    pattern = compile_pattern(text)
    for match in (pattern.fullmatch, pattern.search):
        with pytest.raises(PatternTimeoutError) as told:
            match("a" * 249)
        assert str(told.value).startswith(f"The regular expression {pattern.pattern} was given up after 0.05 s on 'aaa")


def test_other_threads_go_on_while_a_match_takes_its_time() -> None:
    over, turns = threading.Event(), [0]

    def turn() -> None:
        while not over.wait(0.01):
            turns[0] += 1

    beside = threading.Thread(target=turn)
    beside.start()
    try:
        with pytest.raises(PatternTimeoutError, match="given up after 1 s"):
            compile_pattern("(a|aa)+b").fullmatch("a" * 249)
    finally:
        over.set()
        beside.join()
    assert turns[0] > 10  # a match that held the interpreter let no other thread have a turn


@given(st.lists(st.sampled_from(ATOMS), min_size=1, max_size=12), st.text("aAbcé1-_. \n", max_size=12))
def test_matches_are_those_of_pythons_library(atoms: list[str], text: str) -> None:
    try:
        checked = re.compile("".join(atoms), re.ASCII)
    except re.error:
        return
    pattern = TimedPattern(checked)
    for expected, found in (
        (checked.fullmatch(text), pattern.fullmatch(text)),
        (checked.search(text), pattern.search(text)),
    ):
        assert (None if found is None else found.span()) == (None if expected is None else expected.span())


@pytest.mark.parametrize("regex", ["(?:a{1000}){1000}", "((ab{99}){99}){99}", r"(?:\w{1000}[a-z]{1000}){500}"])
def test_repetitions_that_would_fill_the_memory_are_refused(regex: str) -> None:
    with pytest.raises(JavaPatternError, match="written out have more than 300000 characters"):
        compile_pattern(regex)


@pytest.mark.parametrize(
    ("regex", "size"),
    [("abc", 3), (r"\d{4}-[a-f]{2}", 7), ("(ab){3}c", 7), ("((a{2}b){3}){4}", 36), (r"\({5}", 5), ("[)(]{3}", 3)],
)
def test_repetitions_count_as_often_as_they_are_written_out(regex: str, size: int) -> None:
    assert written_out(regex) == size


@pytest.mark.parametrize(
    ("regex", "told"),
    [
        ("a{e}", "Illegal repetition near index 2\na{e}\n  ^"),
        ("{a", "Illegal repetition near index 1\n{a\n ^"),
        ("a{,3}", "Illegal repetition near index 2\na{,3}\n  ^"),
        ("a{2x}", "Unclosed counted closure near index 3\na{2x}\n   ^"),
        ("a{2", "Unclosed counted closure near index 3\na{2"),
    ],
)
def test_a_repetition_without_numbers_is_refused_as_in_java(regex: str, told: str) -> None:
    with pytest.raises(JavaPatternError) as error:
        compile_pattern(regex)
    assert str(error.value) == told


def test_flags_at_the_start_count_together() -> None:
    assert compile_pattern("(?i)(?s)a.B").fullmatch("A\nb") is not None
