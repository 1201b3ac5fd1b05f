"""Takes Java's key stores from the parameters of a URL, and makes of them what Python's drivers take."""

from __future__ import annotations

import atexit
import shutil
import ssl
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from connect.api.errors import ConfigError
from connect.api.tls.key_stores import KeyStore, read_key_store
from connectors.jdbc.dialects.generic.url import Rename, same

TRUST, TRUST_PASSWORD, OWN, OWN_PASSWORD = "trust_store", "trust_store_password", "key_store", "key_store_password"
PLAIN: Final = frozenset({TRUST_PASSWORD, OWN_PASSWORD})
FILES: Final = frozenset({TRUST, OWN})
NAMES: Final = PLAIN | FILES
JAVAX: Final[Mapping[str, Rename]] = {
    "javax.net.ssl.trustStore": (TRUST, same), "javax.net.ssl.trustStorePassword": (TRUST_PASSWORD, same),
    "javax.net.ssl.keyStore": (OWN, same), "javax.net.ssl.keyStorePassword": (OWN_PASSWORD, same),
}  # fmt: skip
"""The names that Java itself has for them."""
JAVAX_TYPES: Final = frozenset({"javax.net.ssl.trustStoreType", "javax.net.ssl.keyStoreType"})
"""Nothing depends on these, as the first bytes of a store say of which type it is."""


def store_of(url: sa.URL, parameter: str, password: str) -> KeyStore | None:
    """Return the store that a parameter names, or None if it is not there. ConfigError: it cannot be read."""
    path = url.query.get(parameter)
    if path is None:
        return None
    return read_key_store(Path(str(path)), str(url.query.get(password, "")), f"connection.url ({parameter})")


def context_of(url: sa.URL, *, checks_host: bool) -> ssl.SSLContext | None:
    """Return the context of TLS that a URL's stores make, or None if it names none. ConfigError: one has no use."""
    trusted, own = store_of(url, TRUST, TRUST_PASSWORD), store_of(url, OWN, OWN_PASSWORD)
    if trusted is None and own is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = checks_host
    named = TRUST
    try:
        if trusted is None:
            context.load_default_certs()
        else:
            trusted.trust_in(context)
        named = OWN
        if own is not None:
            own.show_in(context)
    except OSError as error:
        key = f"connection.url ({named})"
        raise ConfigError(f"{key}: the key store cannot be used: {error}.", key=key) from None
    return context


def authorities_file(trusted: KeyStore) -> str:
    """Return the path of a PEM file of a store's authorities, for a driver that takes files alone.

    It is this process's, and nobody else may write it. ConfigError: the store has no authority.
    """
    if not trusted.authorities:
        # The driver may take an empty file for none, and trust others.
        key = f"connection.url ({TRUST})"
        raise ConfigError(f"{key}: the key store cannot be used: the key store has no authority to trust.", key=key)
    return _written("".join(trusted.authorities))


@cache
def _written(text: str) -> str:
    path = _folder() / f"authorities-{len(list(_folder().iterdir()))}.pem"
    path.write_text(text)
    return str(path)


@cache
def _folder() -> Path:
    made = Path(tempfile.mkdtemp(prefix="connect-authorities-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
