"""Reads pairs of the form old:new as Kafka's ConfigUtils does. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from connect.api.errors import ConfigProblem


def rename_problems(key: str, pairs: Sequence[str]) -> Iterable[ConfigProblem]:
    """Yield a problem for the first text that is no pair."""
    for pair in pairs:
        if len(names_of(pair)) != 2:
            yield ConfigProblem(key, rename_message(pairs, pair))
            return


def names_of(pair: str) -> list[str]:
    """Return the names between the colons; as in Java's split, empty names at the end are dropped, but not at the
    start.
    """
    names = pair.split(":")
    while names and not names[-1]:
        names.pop()
    return names or ([""] if not pair else [])


def rename_message(pairs: Sequence[str], pair: str) -> str:
    """Return Kafka's words for an invalid pair. Cast uses the same words, which speak of renames there, too."""
    return f"Invalid value [{', '.join(pairs)}] for configuration renames: Invalid rename mapping: {pair}"
