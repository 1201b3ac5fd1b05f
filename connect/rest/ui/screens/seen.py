"""Tells whether what a page showed is still so: a change that was decided on an old page is refused, and says why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from connect.cluster.model.history import ConfigVersion
from connect.cluster.model.operations import Operations
from connect.rest.errors.http_error import HttpError
from connect.rest.server.secrets import Secrets, changes
from connect.rest.ui.views.numbers import cut

_SHOWN: Final = 20
_VALUE_CHARS: Final = 200


def version_of(operations: Operations, name: str) -> str:
    """Return what tells a connector's configuration from every other that it had. NotFoundError."""
    return _mark(operations.history.config_versions(name)[-1])


def check_seen(operations: Operations, secrets: Secrets, name: str, seen: str) -> None:
    """Raise HttpError 409, which says what has changed since a page showed version `seen`; empty: nothing was shown.

    NotFoundError: the connector was deleted.
    """
    versions = operations.history.config_versions(name)
    if not seen or _mark(versions[-1]) == seen:
        return
    now = versions[-1]
    shown = next((version for version in versions if _mark(version) == seen), None)
    by = f", by {now.author.who}" if now.author is not None else ""
    said = [f"Connector {name} was changed after this page was loaded (now version {now.version}{by})."]
    if shown is None:
        said.append("The version that the page showed is no longer kept, or another connector has taken its name.")
    else:
        said += change_lines(changes(shown.config, now.config, secrets))
    raise HttpError(409, "\n".join([*said, "Nothing was done. Load the page again and decide anew."]))


def change_lines(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a line for each key that was added, changed or removed; the first twenty, cut."""
    lines = [
        *(f"added: {key} = {cut(value, _VALUE_CHARS)}" for key, value in found["added"].items()),
        *(
            f"changed: {key} from {cut(pair['from'], _VALUE_CHARS)} to {cut(pair['to'], _VALUE_CHARS)}"
            for key, pair in found["changed"].items()
        ),
        *(f"removed: {key}" for key in found["removed"]),
    ]
    return [*lines[:_SHOWN], *([f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else [])]


def _mark(version: ConfigVersion) -> str:
    changed_ms = "" if version.author is None else version.author.changed_ms
    return f"{version.version}.{changed_ms}"
