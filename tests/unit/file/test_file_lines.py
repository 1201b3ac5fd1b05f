"""Splits bytes into lines: the splitting agrees with a plain one on every input, wherever the bytes are cut."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.file.lines import complete_size, split_lines

TERMINATED = re.compile(rb"([^\r\n]*)(?:\r\n|\n|\r(?!\n))")
TEXTS = st.lists(st.sampled_from(["\n", "\r", "\r\n", "a", "é", "😀", "\0", "\x1c", "\u2028", "  "]), max_size=30).map(
    "".join
)


def plain(data: bytes) -> list[tuple[str, int]]:
    return [(m.group(1).decode(), m.end()) for m in TERMINATED.finditer(data)]


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b"", 0),
        (b"a", 0),
        (b"a\n", 2),
        (b"a\nb", 2),
        (b"a\r", 0),
        (b"a\rb", 2),
        (b"a\r\n", 3),
        (b"\r\r", 1),
        (b"a\nb\r", 2),
    ],
)
def test_the_complete_part_ends_with_a_decided_terminator(data: bytes, size: int) -> None:
    assert complete_size(data) == size


@given(TEXTS)
@settings(deadline=None, derandomize=True)
def test_lines_and_their_ends_are_those_of_a_plain_split(text: str) -> None:
    data = text.encode()
    size = complete_size(data)
    wanted = [(line, end) for line, end in plain(data) if end <= size]
    if not size:
        assert wanted == []
        return
    lines = split_lines(data[:size])
    assert list(zip(lines.texts.to_pylist(), lines.ends.to_pylist(), strict=True)) == wanted
    assert lines.ends[-1].as_py() == size


@given(TEXTS, st.integers(0, 100))
@settings(deadline=None, derandomize=True)
def test_what_was_scanned_need_not_be_scanned_again(text: str, cut: int) -> None:
    data = text.encode()
    cut = min(cut, len(data))
    if not complete_size(data[:cut]):
        assert complete_size(data, cut) == complete_size(data)


def test_lines_that_are_not_utf8_are_kept_as_they_are() -> None:
    lines = split_lines(b"good\nb\xffd\r\n\xc3\xa9\r\xc3\n\n")
    assert lines.texts.to_pylist() == ["good", "", "é", "", ""]
    assert lines.ends.to_pylist() == [5, 10, 13, 15, 16]
    assert lines.bad == {1: b"b\xffd", 3: b"\xc3"}
