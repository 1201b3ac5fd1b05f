"""Tells what a database of Firebird has: tables by name alone."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from connectors.jdbc.dialects.generic.catalog import NEVER_LISTED, Catalog
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.table_choice import TableName


class FirebirdCatalog(Catalog):
    """Reads the catalog of Firebird, which has no schemas before its release 6."""

    never_listed = NEVER_LISTED
    has_schemas = False

    def schemas(self, inspector: sa.Inspector, own: str | None, config: JdbcSourceConfig) -> Sequence[str | None]:
        """Return none: all tables are in one list."""
        del inspector, own, config
        return [None]

    def named(self, inspector: sa.Inspector, schema: str | None, name: str) -> TableName:
        """Return the full name of a table that is listed."""
        del inspector
        return TableName(schema, name)
