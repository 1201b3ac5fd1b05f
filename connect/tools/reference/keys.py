"""Makes a table of declared settings, with one line for each. Pure."""

from __future__ import annotations

from collections.abc import Collection

from connect.api.config import Config, KeyDefinition
from connect.tools.reference.markdown import code, escaped, table

HEADS = ("key", "type", "default", "allowed", "what it does")


def key_table(config: type[Config], without: Collection[KeyDefinition] = ()) -> list[str]:
    """Return the table of a declaration's settings, in the order of the declaration.

    Settings that only the worker's file gives are left out, as the worker's table has them, and so are the definitions
    in `without`, as another table has the same ones.
    """
    shown = [d for d in config.definitions() if not d.from_worker and d not in without]
    return table(HEADS, (_row(definition) for definition in shown))


def _row(definition: KeyDefinition) -> tuple[str, ...]:
    return (
        code(definition.name),
        definition.type.lower(),
        _default(definition),
        escaped(definition.allowed) or ", ".join(map(code, definition.recommended_values)),
        escaped(definition.doc) + _former(definition),
    )


def _former(definition: KeyDefinition) -> str:
    return f" Formerly {', '.join(map(code, definition.former))}, which goes on working." if definition.former else ""


def _default(definition: KeyDefinition) -> str:
    if definition.required:
        return "**required**"
    if definition.default is None:
        return ""
    return code(definition.default) if definition.default.strip() else "empty"
