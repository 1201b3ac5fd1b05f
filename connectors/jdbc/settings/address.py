"""Makes settings of a source from a database's URL: it follows tables by a key that grows. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from connect.api.errors import ConfigError
from connect.api.optional.address import Addressed
from connectors.jdbc.dialects.known import dialect_at


def addressed(url: str, tables: Sequence[str]) -> Addressed | None:
    """Return settings with mode=incrementing, which finds its column itself. Return None if the URL is not a
    database's.

    ConfigError: no table is named.
    """
    form = dialect_at(url).url
    if not form.driver:
        return None
    if not tables:
        raise ConfigError("Which tables are read is not said.", key="table", fix="Name them by --table.")
    names = [table.rpartition(".")[2] for table in tables]
    config = {
        **form.settings(url), "mode": "incrementing", "table.whitelist": ",".join(tables), "topic.prefix": "",
        "tasks.max": "1", "poll.interval.ms": "1000",
    }  # fmt: skip
    return Addressed(config, names)
