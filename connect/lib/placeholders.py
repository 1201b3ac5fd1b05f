"""Finds where a text refers to a config provider: `${provider:[path:]key}`. Pure, in time linear in the text."""

from __future__ import annotations

from collections.abc import Iterator


def placeholder_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each `${…}` starts and ends, in order. One without an end is none, as is what stands inside another.

    Each is found by searching for its two ends: a pattern would begin again at every `${` of a text without an end.
    """
    start = text.find("${")
    while start >= 0:
        end = text.find("}", start)
        if end < 0:
            return
        yield start, end + 1
        start = text.find("${", end)


def without_placeholders(text: str) -> str:
    """Return the text with `_` for each character of a placeholder, which has colons and slashes of its own."""
    made, at = [], 0
    for start, end in placeholder_spans(text):
        made += [text[at:start], "_" * (end - start)]
        at = end
    return "".join([*made, text[at:]])


def is_reference(text: str) -> bool:
    """Tell if a text is placeholders and spaces alone, one at least: it holds no value itself."""
    at, found = 0, False
    for start, end in placeholder_spans(text):
        if text[at:start].strip():
            return False
        at, found = end, True
    return found and not text[at:].strip()
