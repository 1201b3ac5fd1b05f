"""Reads the catalog of Firebird, where tables have no schemas."""

from __future__ import annotations

from connectors.jdbc.dialects.generic.catalog import NEVER_LISTED, SchemalessCatalog


class FirebirdCatalog(SchemalessCatalog):
    """Reads the catalog of Firebird, which has no schemas before its release 6."""

    never_listed = NEVER_LISTED
