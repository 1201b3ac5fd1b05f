"""Makes TLS contexts for clients by Java's settings: `truststore.location` and the others, behind a prefix.

Files are PEM files or Java's key stores (JKS, PKCS12); their first bytes tell which.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from connect.api.allowed_paths import AllowedPaths
from connect.api.errors import ConfigError

if TYPE_CHECKING:
    from connect.api.tls.key_stores import KeyStore

_JKS: Final = b"\xfe\xed\xfe\xed"
_JCEKS: Final = b"\xce\xce\xce\xce"
"""A store of Java's type JCEKS begins with these bytes. It cannot be read."""
_PKCS12: Final = b"\x30"


def checks_host(given: Mapping[str, str]) -> bool:
    """Tell if a server's certificate has to name the host: always, unless endpoint.identification.algorithm is
    empty.
    """
    return given.get("endpoint.identification.algorithm", "https") != ""


def client_tls(given: Mapping[str, str], allowed: AllowedPaths, prefix: str, server: str) -> ssl.SSLContext:
    """Return the TLS context of these settings, given without `prefix`. Messages call the other side `server`.

    The context trusts the authorities of the trust store alone, and without one those that the system trusts.
    ConfigError: a file cannot be used.
    """
    try:
        context = _trusting(given, allowed, prefix)
        context.check_hostname = checks_host(given)
        password = given.get("key.password")
        if location := given.get("keystore.location"):
            secret, setting = given.get("keystore.password", ""), f"{prefix}keystore.location"
            own = _opened(location, secret, setting, allowed, password or "")
            if isinstance(own, Path):
                context.load_cert_chain(own, password=password)
            else:
                own.show_in(context)
        if (chain := given.get("keystore.certificate.chain")) and (key := given.get("keystore.key")):
            # The ssl module reads certificates from files only.
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
                file.write(f"{key}\n{chain}\n")
                file.flush()
                context.load_cert_chain(file.name, password=password)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"The TLS files of {server} cannot be used: {error}", key=prefix.rstrip(".")) from None
    return context


def _trusting(given: Mapping[str, str], allowed: AllowedPaths, prefix: str) -> ssl.SSLContext:
    certificates, file = given.get("truststore.certificates") or "", None
    if location := given.get("truststore.location"):
        trusted = _opened(location, given.get("truststore.password", ""), f"{prefix}truststore.location", allowed)
        if isinstance(trusted, Path):
            file = trusted
        else:
            certificates += "\n" + trusted.trusted()
    # Given neither, the context trusts the system's authorities.
    return ssl.create_default_context(cafile=file, cadata=certificates or None)


def _opened(
    location: str, password: str, setting: str, allowed: AllowedPaths, key_password: str = ""
) -> Path | KeyStore:
    """Return the content of one of Java's key stores, or the path of a file of another kind. ConfigError: the file is
    not allowed, or cannot be read.
    """
    real = allowed.require(setting, location)
    with real.open("rb") as file:
        start = file.read(4)
    if start == _JCEKS:
        raise ConfigError(
            f"{setting} names a Java key store of type JCEKS, and those of JKS and PKCS12 are read.", key=setting,
            fix="Make one of these of it: keytool -importkeystore -srckeystore store.jks -destkeystore store.p12 "
            "-deststoretype PKCS12.",
        )  # fmt: skip
    if start == _JKS or start[:1] == _PKCS12:
        # A worker imports this module too, and never reads such stores: without theirs, it saves five megabytes.
        from connect.api.tls.key_stores import read_key_store

        return read_key_store(real, password, setting, key_password)
    return real
