"""Tells which distributions an install of one brings along, by the metadata of what is installed here."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needed(name: str, extras: frozenset[str] = frozenset(), known: set[tuple[str, str]] | None = None) -> set[str]:
    """The distributions that one needs with some of its extras, itself included."""
    found = set() if known is None else known
    wanted = {(canonicalize_name(name), extra) for extra in (*extras, "")} - found
    found |= wanted
    try:
        texts = distribution(name).requires or ()
    except PackageNotFoundError:  # of another platform
        texts = ()
    for requirement in map(Requirement, texts):
        marks = [{"extra": extra} for _, extra in wanted]
        if any(requirement.marker is None or requirement.marker.evaluate(mark) for mark in marks):
            needed(requirement.name, frozenset(requirement.extras), found)
    return {name for name, _ in found}
