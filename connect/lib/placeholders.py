"""Finds references to config providers in a text: `${provider:[path:]key}`. Pure, in time linear in the text."""

from __future__ import annotations

from collections.abc import Iterator


def placeholder_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each `${…}`, in order. One without an end does not count, nor one inside of another.

    The search looks for the two ends of each. A pattern would look at the rest of the text again for every `${` that
    has no end.
    """
    start = text.find("${")
    while start >= 0:
        end = text.find("}", start)
        if end < 0:
            return
        yield start, end + 1
        start = text.find("${", end)


def without_placeholders(text: str) -> str:
    """Return the text with `_` for each character of a placeholder, so that its colons and slashes disturb no
    search.
    """
    made, at = [], 0
    for start, end in placeholder_spans(text):
        made += [text[at:start], "_" * (end - start)]
        at = end
    return "".join([*made, text[at:]])


def is_reference(text: str) -> bool:
    """Tell if a text has only placeholders, at least one, and spaces, and so holds no value itself."""
    at, found = 0, False
    for start, end in placeholder_spans(text):
        if text[at:start].strip():
            return False
        at, found = end, True
    return found and not text[at:].strip()
