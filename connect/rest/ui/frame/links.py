"""Makes addresses below `/ui`. A connector's name is in the query: a path cannot hold every name, such as `..`."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, urlencode

ROOT: Final = "/ui"


def link(path: str = "", **query: object) -> str:
    """Return an address below `/ui`. Parameters that are empty are left out of the query."""
    given = {key: str(value) for key, value in query.items() if value not in {None, ""}}
    return f"{ROOT}{path}{'?' if given else ''}{urlencode(given, quote_via=quote)}"
