"""Declares the keys of TLS that the sinks for HTTP share, each behind the sink's own prefix."""

from __future__ import annotations

from typing import Any

from connect.api.config import key
from connect.api.reach import Reach


def store_file(prefix: str, store: str, group: str, doc: str) -> Any:
    """Declare the file of a store: `store` is truststore or keystore. The value is a path, or None."""
    return key(f"{prefix}{store}.location", None, group=group, reach=Reach.FILE, doc=doc)


def client_key_password(prefix: str, group: str) -> Any:
    """Declare the password of the client's key. The value is a Password, or None."""
    return key(f"{prefix}key.password", None, group=group, doc="The key's password.")


def store_password(prefix: str, store: str, group: str) -> Any:
    """Declare the password of a store of Java's. The value is a Password, or None."""
    kind = store.removesuffix("store")
    return key(
        f"{prefix}{store}.password",
        None,
        group=group,
        harmless="a password",
        doc=f"The password of a {kind} store of Java's.",
    )


def store_type(prefix: str, store: str, group: str) -> Any:
    """Declare the type of a store, which nothing depends on. The value is a text."""
    return key(
        f"{prefix}{store}.type",
        "",
        group=group,
        importance="low",
        harmless="a name",
        doc="Nothing depends on it: the file tells its type.",
    )
