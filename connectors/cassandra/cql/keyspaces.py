"""Makes the error for a keyspace that has no tables. Pure."""

from __future__ import annotations

from typing import Final

from connect.api.errors import ConfigError
from connect.lib.nearest import nearest
from connectors.cassandra.cql.schema_reader import Schemas

_SHOWN: Final = 10


def no_tables_in(keyspace: str, schemas: Schemas) -> ConfigError:
    """Return the error for a keyspace without tables. Its fix lists other keyspaces, the most similar name first."""
    named = {table.keyspace for table in schemas.tables.values()}
    others = sorted(name for name in named if name != "system" and not name.startswith("system_"))
    near = nearest(keyspace, others)
    others.sort(key=lambda name: name != near)
    more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    fix = (
        f"Set keyspace to one that has tables ({', '.join(others[:_SHOWN])}{more}), or create a table in {keyspace}."
        if others
        else f"No other keyspace of the cluster has one: check contact.points, or create a table in {keyspace}."
    )
    return ConfigError(
        f"There is no keyspace {keyspace} with tables that can be read.", key="keyspace",
        fix=f"Is {near} meant? {fix}" if near else fix,
    )  # fmt: skip
