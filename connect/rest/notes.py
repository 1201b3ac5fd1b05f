"""What a person should know of a connector's configuration, for its status: looked up once per configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from aiohttp import web

from connect.cluster.operations import RequestError
from connect.rest.context import RestContext, context_of
from connect.rest.waiting import apart, finished

_MOST: Final = 10_000


class Noted(NamedTuple):
    """The notes of a configuration."""

    config: Mapping[str, str]
    notes: tuple[str, ...]


NOTED: Final = web.AppKey("noted", dict[str, Noted])


async def notes_of(request: web.Request, name: str) -> tuple[str, ...]:
    """The notes of a connector's configuration, without secrets. NotFoundError: there is no such connector."""
    config = context_of(request).operations.info(name).config
    noted = request.app[NOTED]
    known = noted.get(name)
    if known is None or known.config != config:
        found = await finished(request, apart(_notes, context_of(request), config), f"looking at connector {name}")
        if len(noted) >= _MOST:
            noted.clear()  # connectors that were deleted leave theirs behind
        known = noted[name] = Noted(dict(config), found)
    return known.notes


def _notes(context: RestContext, config: Mapping[str, str]) -> tuple[str, ...]:
    try:
        return context.secrets.mask_infos(context.validator.validate(config), config).notes
    except RequestError:
        return ()  # its class is not here any more, which its tasks say
