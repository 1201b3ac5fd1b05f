"""Reads the catalog of Firebird, where tables have no schemas."""

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
        """Return None as the only schema, as Firebird has no schemas here."""
        del inspector, own, config
        return [None]

    def named(self, inspector: sa.Inspector, schema: str | None, name: str) -> TableName:
        """Return the name of a table that is listed; it has no schema."""
        del inspector
        return TableName(schema, name)
