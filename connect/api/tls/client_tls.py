"""Make TLS contexts for clients by Java's settings: `truststore.location` and the others, behind a prefix.

Files are PEM files, or key stores of Java (JKS, PKCS12), as their first bytes tell.
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
"""A store of this type begins so, which is not read."""
_PKCS12: Final = b"\x30"


def checks_host(given: Mapping[str, str]) -> bool:
    """Tell if a server's certificate has to name the host: all but an empty endpoint.identification.algorithm."""
    return given.get("endpoint.identification.algorithm", "https") != ""


def client_tls(given: Mapping[str, str], allowed: AllowedPaths, prefix: str, server: str) -> ssl.SSLContext:
    """Return the context of these settings, which stand behind `prefix`. `server`: what messages call the other side.

    Without a trust store the authorities count that the system trusts. ConfigError: a file cannot be used.
    """
    context = ssl.create_default_context()
    context.check_hostname = checks_host(given)
    try:
        if certificates := given.get("truststore.certificates"):
            context.load_verify_locations(cadata=certificates)
        if location := given.get("truststore.location"):
            trusted = _opened(location, given.get("truststore.password", ""), f"{prefix}truststore.location", allowed)
            if isinstance(trusted, Path):
                context.load_verify_locations(cafile=trusted)
            else:
                trusted.trust_in(context)
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


def _opened(
    location: str, password: str, setting: str, allowed: AllowedPaths, key_password: str = ""
) -> Path | KeyStore:
    """Return what a store of Java's has, or the path of another file. ConfigError: it may not or cannot be read."""
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
        # A worker, which knows this module, has no need of what reads such stores: five megabytes.
        from connect.api.tls.key_stores import read_key_store

        return read_key_store(real, password, setting, key_password)
    return real
