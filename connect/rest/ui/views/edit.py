"""Shows what storing a configuration would do. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from connect.client.changes import KeyChange
from connect.rest.ui.views.numbers import cut

_CHARS: Final = 400
_ROWS: Final = 300


@dataclass(frozen=True, slots=True)
class Preview:
    """Holds what a page shows of a dry run. `tasks` is how many tasks would run; it is None if the connector has not
    planned them.
    """

    errors: Sequence[tuple[str, str]]
    notes: Sequence[str]
    changes: Sequence[KeyChange]
    tasks: int | None
    new_topics: Sequence[str]
    plan_error: str


def preview_of(answer: Mapping[str, Any]) -> Preview:
    """Return what a page shows of the answer to `PUT …/config?dry_run=true`."""
    errors = [
        (info["value"]["name"], cut(error, _CHARS * 2))
        for info in answer["configs"]
        for error in info["value"]["errors"]
    ]
    return Preview(
        errors,
        [cut(note, _CHARS) for note in answer.get("notes", ())],
        _changes(answer["changes"])[:_ROWS],
        None if answer["tasks"] is None else len(answer["tasks"]),
        [cut(topic, _CHARS) for topic in (answer["new_topics"] or ())[:_ROWS]],
        cut(answer["plan_error"] or "", _CHARS * 2),
    )


def refused(message: str) -> Preview:
    """Return what a page shows if a text is no configuration."""
    return Preview([("configuration", cut(message, _CHARS * 2))], (), (), None, (), "")


def _changes(found: Mapping[str, Mapping[str, Any]]) -> list[KeyChange]:
    changed = [
        *(KeyChange(key, None, cut(value, _CHARS)) for key, value in found["added"].items()),
        *(KeyChange(key, cut(p["from"], _CHARS), cut(p["to"], _CHARS)) for key, p in found["changed"].items()),
        *(KeyChange(key, cut(value, _CHARS), None) for key, value in found["removed"].items()),
    ]
    return sorted(changed, key=lambda change: change.key)
