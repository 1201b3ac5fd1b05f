"""Lets handlers note for the audit log which states and offsets a request changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from connect.api.errors import ConnectError
from connect.cluster.model.connector_values import PartitionOffset, TargetState
from connect.cluster.model.request_errors import NotFoundError, RequestError
from connect.rest.errors.http_error import HttpError
from connect.rest.server.context import context_of
from connect.rest.server.waiting import finished

STATES: Final = web.RequestKey("state_changes", dict[str, dict[str, Any]])
"""Holds `{"from", "to"}` by connector or logger, and by what of it is changed. It is only there with an audit log."""
SHOWN: Final = 100
"""A change of offsets is noted with this many partitions at most."""


def tell_change(request: web.Request, subject: str, what: str, before: object, after: object) -> None:
    """Note what a request is about to change of a connector or a logger, as JSON has it."""
    if STATES in request:
        request[STATES].setdefault(subject, {})[what] = {"from": before, "to": after}


def tell_target(request: web.Request, name: str, target: TargetState) -> None:
    """Note the state that a connector has, if any, and the one that it is to have."""
    if STATES not in request:
        return
    try:
        before = context_of(request).operations.connectors.status(name).connector.state.value
    except NotFoundError:
        before = None
    tell_change(request, name, "state", before, target.value)


async def tell_offsets(request: web.Request, name: str, given: Sequence[PartitionOffset] | None) -> None:
    """Note where a connector stands in the partitions of `given`, and where it is to stand.

    If `given` is None, all offsets are deleted. Offsets that cannot be read are noted as unknown, and the request goes
    on.
    """
    if STATES not in request:
        return
    before: object
    try:
        stored = await finished(request, context_of(request).operations.offsets.read(name))
        before = _told(stored if given is None else _of(given, stored))
    except (ConnectError, RequestError, HttpError) as error:
        before = f"not known: {error}"
    tell_change(request, name, "offsets", before, _told(given or ()))


def _of(given: Sequence[PartitionOffset], stored: Sequence[PartitionOffset]) -> list[PartitionOffset]:
    wanted = [one.partition for one in given[:SHOWN]]
    known = [one for one in stored if one.partition in wanted]
    return known + [PartitionOffset(one, None) for one in wanted if all(one != k.partition for k in known)]


def _told(offsets: Iterable[PartitionOffset]) -> Mapping[str, Any]:
    found = [{"partition": one.partition, "offset": one.offset} for one in offsets]
    return {"count": len(found), "offsets": found[:SHOWN]}
