"""Make TLS contexts for clients by Java's settings: `truststore.location` and the others, behind a prefix.

Files are PEM files; key stores of Java are refused with the commands that make one of them.
"""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from connect.api.allowed_paths import AllowedPaths
from connect.api.errors import ConfigError

_JKS: Final = frozenset({b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"})
"""Holds the bytes that key stores of Java's own types, JKS and JCEKS, begin with."""


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
            context.load_verify_locations(cafile=_pem(location, f"{prefix}truststore.location", allowed))
        password = given.get("key.password")
        if location := given.get("keystore.location"):
            context.load_cert_chain(_pem(location, f"{prefix}keystore.location", allowed), password=password)
        if (chain := given.get("keystore.certificate.chain")) and (key := given.get("keystore.key")):
            # The ssl module reads certificates from files only.
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
                file.write(f"{key}\n{chain}\n")
                file.flush()
                context.load_cert_chain(file.name, password=password)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"The TLS files of {server} cannot be used: {error}", key=prefix.rstrip(".")) from None
    return context


def _pem(location: str, key: str, allowed: AllowedPaths) -> Path:
    real = allowed.require(key, location)
    with real.open("rb") as file:
        start = file.read(4)
    is_jks = start[:4] in _JKS
    if is_jks or start[:1] == b"\x30":
        raise ConfigError(
            f"{key} names a Java key store ({'JKS' if is_jks else 'PKCS12'}), and only PEM files are read.",
            key=key,
            fix="Make a PEM file of it and name that: "
            + ("keytool -importkeystore -srckeystore store.jks -destkeystore store.p12 -deststoretype PKCS12, then "
               if is_jks else "")
            + "openssl pkcs12 -in store.p12 -nodes -out store.pem.",
        )  # fmt: skip
    return real
