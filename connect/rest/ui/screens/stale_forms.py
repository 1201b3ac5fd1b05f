"""Checks if a form's page still shows the present state; if not, the change is refused, and the error says why."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from connect.cluster.model.connector_values import TargetState
from connect.cluster.model.history import ConfigVersion
from connect.cluster.model.operations import Operations
from connect.cluster.model.request_errors import ChangedMeanwhileError
from connect.rest.errors.http_error import HttpError
from connect.rest.server.author import who
from connect.rest.server.context import context_of
from connect.rest.server.secrets import Secrets, changes
from connect.rest.server.waiting import finished
from connect.rest.ui.views.numbers import cut

_SHOWN: Final = 20
_VALUE_CHARS: Final = 200
ANEW: Final = "Nothing was done. Load the page again and decide anew."
_WAS: Final = {TargetState.STARTED: "resumed", TargetState.PAUSED: "paused", TargetState.STOPPED: "stopped"}
RESTS: Final = _WAS | {TargetState.STARTED: "running"}
"""Says for each target state how a connector in that state is called."""


def version_of(operations: Operations, secrets: Secrets, name: str) -> str:
    """Return a text that tells the present configuration of a connector from its others. NotFoundError: there is
    none.
    """
    return _mark(operations.history.config_versions(name)[-1], secrets)


def check_seen(operations: Operations, secrets: Secrets, name: str, form: Mapping[str, str]) -> None:
    """Raise HttpError 409 if the connector's configuration has changed since the form's page showed it; the text says
    how.

    HttpError 400: the form does not say which version the page showed. NotFoundError: the connector was deleted.
    """
    versions, seen = operations.history.config_versions(name), required(form, "seen")
    if _mark(versions[-1], secrets) == seen:
        return
    now = versions[-1]
    shown = next((version for version in versions if _mark(version, secrets) == seen), None)
    by = f", by {now.author.who}" if now.author is not None else ""
    said = [f"Connector {name} was changed after this page was loaded (now version {now.version}{by})."]
    if shown is None:
        said.append("The version that the page showed is no longer kept, or another connector has taken its name.")
    else:
        said += change_lines(changes(shown.config, now.config, secrets))
    raise HttpError(409, "\n".join([*said, ANEW]))


async def save_unless_changed(
    request: web.Request, name: str, config: Mapping[str, str], form: Mapping[str, str]
) -> None:
    """Store a configuration in place of the one that the form's page showed. The errors are those of `check_seen`.

    The herder compares once more at the moment of writing, as another request may write before this one.
    """
    operations, secrets = context_of(request).operations, context_of(request).secrets
    check_seen(operations, secrets, name, form)
    present = operations.connectors.info(name).config
    try:
        await finished(request, operations.connectors.save(name, config, who(request), instead_of=present))
    except ChangedMeanwhileError:
        check_seen(operations, secrets, name, form)  # Its text tells the values, too.
        raise


def check_target(operations: Operations, name: str, form: Mapping[str, str]) -> None:
    """Raise HttpError 409 if somebody has paused, resumed or stopped the connector since the form's page was loaded.

    HttpError 400: the form does not say what the page showed. NotFoundError: the connector was deleted.
    """
    seen, now = required(form, "target"), operations.connectors.info(name).target
    if seen not in {*TargetState}:
        raise HttpError(400, f"The form says that its page showed {cut(seen, 40)!r}, which is no state of a connector.")
    if seen != now:
        shown = f"after this page was loaded, which showed it {RESTS[TargetState(seen)]}"
        raise HttpError(409, f"Connector {name} was {_WAS[now]} {shown}. {ANEW}")


def required(form: Mapping[str, str], field: str) -> str:
    """Return the field by which a form says what its page showed. HttpError 400: the form lacks the field."""
    if not form.get(field):
        raise HttpError(400, f"The form does not say what its page showed (field {field}). {ANEW}")
    return form[field]


def change_lines(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a line for each key that was added, changed or removed: the first twenty keys, with long values cut."""
    lines = [
        *(f"added: {key} = {cut(value, _VALUE_CHARS)}" for key, value in found["added"].items()),
        *(
            f"changed: {key} from {cut(pair['from'], _VALUE_CHARS)} to {cut(pair['to'], _VALUE_CHARS)}"
            for key, pair in found["changed"].items()
        ),
        *(f"removed: {key}" for key in found["removed"]),
    ]
    return [*lines[:_SHOWN], *([f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else [])]


def _mark(version: ConfigVersion, secrets: Secrets) -> str:
    if version.author is not None:
        return f"{version.version}.{version.author.changed_ms}"
    # A configuration of a worker without a history has its number from this one alone, and so has its next one.
    masked = json.dumps(secrets.mask(version.config), sort_keys=True)
    return f"{version.version}.{hashlib.sha256(masked.encode()).hexdigest()[:32]}"
