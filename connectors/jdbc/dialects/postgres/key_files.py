"""Makes PEM of the keys that pgJDBC takes and libpq does not: PKCS8 under a password (.pk8), and PKCS12 stores (.p12).

libpq reads keys and certificates from files alone. What is made here is in memory where the system has such files.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from connect.api.errors import ConfigError
from connect.api.tls.key_stores import is_key_store, read_key_store

_STORES: Final = frozenset({".p12", ".pfx"})
"""Files with these endings are stores of PKCS12 to pgJDBC, all others are keys."""
_URL: Final = "connection.url"


def with_pem_key(url: sa.URL) -> sa.URL:
    """Return the URL with its key as libpq reads it. ConfigError: the key cannot be read."""
    named = url.query.get("sslkey")
    path = Path(str(named or ""))
    if not named or not path.is_file() or not is_key_store(path):
        return url
    password = str(url.query.get("sslpassword", ""))
    rest = url.difference_update_query(["sslpassword"])
    if path.suffix.lower() not in _STORES:
        return rest.update_query_dict({"sslkey": _file(_pkcs8(path, password))})
    store = read_key_store(path, password, f"{_URL} (sslkey)")
    if store.key is None:
        raise _unusable("the key store has no key, or its password is missing")
    files = {"sslkey": _file(store.key), "sslcert": _file("".join(store.chain))}
    return rest.update_query_dict(files)


def _pkcs8(path: Path, password: str) -> str:
    """Return the key of a file as PEM. A password that an open key does not need is passed over, as pgJDBC does."""
    data = path.read_bytes()
    try:
        return _pem(data, password)
    except TypeError:
        if not password:
            raise _unusable("it needs a password") from None
    return _pem(data, "")


def _pem(data: bytes, password: str) -> str:
    """Return a key as PEM. TypeError: it needs a password and has none, or the reverse. ConfigError: it is no key."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_der_private_key,
    )

    try:
        key = load_der_private_key(data, password.encode() or None)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _unusable(str(error)) from None
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _unusable(why: str) -> ConfigError:
    return ConfigError(
        f"{_URL} (sslkey): the key cannot be read: {why.rstrip('.')}.", key=_URL,
        fix="Name a key of PKCS8 (.pk8), a PKCS12 store (.p12) or a PEM file, and its password in sslpassword.",
    )  # fmt: skip


@cache
def _file(text: str) -> str:
    """Return the path of a file of this text, which only this process can read."""
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("connect-key")
        os.fchmod(number, 0o600)
        os.write(number, text.encode())
        return f"/proc/self/fd/{number}"
    path = _folder() / f"{len(list(_folder().iterdir()))}.pem"
    path.touch(0o600)
    path.write_text(text)
    return str(path)


@cache
def _folder() -> Path:
    made = Path(tempfile.mkdtemp(prefix="connect-keys-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
