"""A URL of a database as the settings of a source that follows tables by their growing key. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote, urlsplit

from connect.api.errors import ConfigError
from connect.api.optional.address import Addressed

_SCHEMES: Final = {"postgres": "postgresql", "postgresql": "postgresql", "mysql": "mysql", "mariadb": "mariadb"}
_SQLITE: Final = "sqlite:///"


def addressed(url: str, tables: Sequence[str]) -> Addressed | None:
    """mode=incrementing, whose column is found by itself. None: another kind of URL."""
    scheme = url.partition(":")[0].lower()
    if scheme != "sqlite" and scheme not in _SCHEMES:
        return None
    if not tables:
        raise ConfigError("Which tables are read is not said.", key="table", fix="Name them by --table.")
    reach = {"connection.url": f"jdbc:sqlite:{url.removeprefix(_SQLITE)}"} if scheme == "sqlite" else _server(url)
    names = [table.rpartition(".")[2] for table in tables]
    config = {
        **reach, "mode": "incrementing", "table.whitelist": ",".join(tables), "topic.prefix": "", "tasks.max": "1",
        "poll.interval.ms": "1000",
    }  # fmt: skip
    return Addressed(config, names)


def _server(url: str) -> dict[str, str]:
    parts = urlsplit(url)
    if not parts.hostname or not parts.path.strip("/"):
        raise ConfigError("The URL names no host or no database.", fix="Write it as postgresql://user@host/database.")
    place = parts.netloc.rpartition("@")[2]
    query = f"?{parts.query}" if parts.query else ""
    found = {"connection.url": f"jdbc:{_SCHEMES[parts.scheme.lower()]}://{place}{parts.path}{query}"}
    login = {"connection.user": parts.username, "connection.password": parts.password}
    return found | {key: unquote(value) for key, value in login.items() if value}
