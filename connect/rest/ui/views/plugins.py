"""Puts plug-ins and their keys under headings, as pages show them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from connect.api.plugin import Plugin
from connect.cluster.model.validation_infos import Definition

KINDS: Final = {
    "source": "Sources", "sink": "Sinks", "converter": "Converters", "header_converter": "Header converters",
    "transformation": "Transforms", "predicate": "Predicates",
}  # fmt: skip


def by_kind(plugins: Sequence[Plugin], text: str) -> list[tuple[str, list[Plugin]]]:
    """Return the plug-ins whose name contains `text`, under the headings of their kinds."""
    wanted = text.strip().lower()
    found = [plugin for plugin in plugins if wanted in plugin.name.lower()]
    groups = [(title, [one for one in found if one.kind.value == kind]) for kind, title in KINDS.items()]
    return [(title, sorted(group, key=lambda one: one.name)) for title, group in groups if group]


def by_group(definitions: Sequence[Definition]) -> list[tuple[str, list[Definition]]]:
    """Return the keys under the headings of their groups, in the order in which they were declared."""
    order = list(dict.fromkeys(one.group or "Other" for one in definitions))
    placed = sorted(definitions, key=lambda one: order.index(one.group or "Other"))
    return [(title, list(group)) for title, group in groupby(placed, key=lambda one: one.group or "Other")]
