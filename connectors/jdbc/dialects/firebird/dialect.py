"""Describes Firebird, part by part."""

from __future__ import annotations

from connectors.jdbc.dialects.dialect import Dialect, UrlPart, part


class Firebird(Dialect):
    """Describes Firebird."""

    title = "Firebird"

    @property
    def caution(self) -> str:
        """Return what is not promised: how polls are explained and rights are asked for is not known."""
        return (
            "Plans, rights and log of Firebird cannot be asked for here. Users other than the database's owner, SYSDBA "
            "and RDB$ADMIN do not see the transactions of others: then rows of transactions that last longer than "
            "settle.time.ms can be lost."
        )

    url = UrlPart("firebird.url:FirebirdUrl")
    types = part("firebird.types:FirebirdTypes")
    connecting = part("firebird.connecting:FirebirdConnecting")
    sink = part("firebird.writing:FirebirdWriting")
    catalog = part("firebird.catalog:FirebirdCatalog")
    settled = part("firebird.settled:FirebirdSettled")
    cursors = part("firebird.cursors:FirebirdCursors")
