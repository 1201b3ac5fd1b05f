"""Makes TLS contexts for the REST server and for calls between workers, from `listeners.https.ssl.*` keys with PEM.

As in Kafka Connect, either the keys under this prefix count or, if there are none, the worker's own `ssl.*` keys.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from connect.api.errors import ConfigError

T = TypeVar("T")
LISTENERS: Final = "listeners.https."
ADMIN_LISTENERS: Final = "admin.listeners.https."
_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


def server_context(worker: Mapping[str, str], prefix: str = LISTENERS) -> ssl.SSLContext:
    """Return the TLS context of an https listener. ConfigError: a key is missing or cannot be used."""
    keys = _Keys(worker, prefix)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    _set_versions(context, keys)
    if not _load_identity(context, keys):
        raise ConfigError(
            f"An https listener needs a certificate, but {keys.name('ssl.keystore.location')} is not set.",
            key=keys.name("ssl.keystore.location"),
            fix="Name a PEM file with the key and the certificate chain, and set ssl.keystore.type=PEM beside it.",
        )
    wanted = keys.get("ssl.client.auth", "none").strip().lower()
    if wanted not in _CLIENT_AUTH:
        raise ConfigError(
            f"Invalid value {wanted} for configuration {keys.name('ssl.client.auth')}: String must be one of: "
            "required, requested, none",
            key=keys.name("ssl.client.auth"),
        )
    if wanted != "none":
        _load_trust(keys, context.load_verify_locations)
    context.verify_mode = _CLIENT_AUTH[wanted]
    return context


def identity_key(worker: Mapping[str, str]) -> str:
    """Return the key that names the certificate of https listeners."""
    keys = _Keys(worker, LISTENERS)
    chain = "ssl.keystore.certificate.chain"
    return keys.name(chain if keys.get(chain) else "ssl.keystore.location")


def asks_for_certificates(worker: Mapping[str, str]) -> bool:
    """Return True when https listeners ask their clients for a certificate."""
    return _Keys(worker, LISTENERS).get("ssl.client.auth", "none").strip().lower() in {"requested", "required"}


def client_context(worker: Mapping[str, str]) -> ssl.SSLContext:
    """Return the TLS by which a worker calls another one: it trusts what its listeners' keys trust, or without a trust
    store what the system trusts, and shows their certificate.
    """
    keys = _Keys(worker, LISTENERS)
    context = _load_trust(keys, ssl.create_default_context) or ssl.create_default_context()
    _set_versions(context, keys)
    _load_identity(context, keys)
    wanted = keys.given("ssl.endpoint.identification.algorithm")
    context.check_hostname = wanted is None or bool(wanted.strip())
    return context


def pem_files(worker: Mapping[str, str], prefix: str = LISTENERS) -> Sequence[str]:
    """Return the files that hold the certificates of https listeners and those that they trust."""
    return list(_file_keys(_Keys(worker, prefix)).values())


def renew(context: ssl.SSLContext, worker: Mapping[str, str], prefix: str = LISTENERS) -> None:
    """Load certificate, key and trust from their files into a context that is in use. ConfigError: they cannot be used,
    and the certificate stays.
    """
    keys = _Keys(worker, prefix)
    name, password = keys.name("ssl.keystore.location"), keys.get("ssl.key.password")
    location = keys.get("ssl.keystore.location") if name in _file_keys(keys) else ""
    # A file may be half written: it is read once, so that what was tried is what is loaded.
    text = _load(name, location, Path(location).read_text) if location else ""
    with _as_file(text) as path:
        for one in (ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), context):
            if context.verify_mode is not ssl.CERT_NONE:
                _load_trust(keys, one.load_verify_locations)
            if location:
                _load(name, location, one.load_cert_chain, path, None, password)


def _file_keys(keys: _Keys) -> Mapping[str, str]:
    """Return the keys that name files, each with its file, but for those that count for nothing beside others."""
    instead = {"ssl.keystore.location": "ssl.keystore.certificate.chain",
               "ssl.truststore.location": "ssl.truststore.certificates"}  # fmt: skip
    return {keys.name(key): keys.get(key) for key, other in instead.items() if keys.get(key) and not keys.get(other)}


class _Keys:
    """Holds the `ssl.*` keys that count for a prefix."""

    def __init__(self, worker: Mapping[str, str], prefix: str) -> None:
        own = {key.removeprefix(prefix): value for key, value in worker.items() if key.startswith(prefix)}
        self._prefix = prefix if own else ""
        self._values = own or worker

    def get(self, key: str, default: str = "") -> str:
        return self._values.get(key) or default

    def given(self, key: str) -> str | None:
        return self._values.get(key)

    def name(self, key: str) -> str:
        return f"{self._prefix}{key}"


def _set_versions(context: ssl.SSLContext, keys: _Keys) -> None:
    named = [name.strip() for name in keys.get("ssl.enabled.protocols", "TLSv1.2,TLSv1.3").split(",")]
    versions = [_VERSIONS[name] for name in named if name in _VERSIONS]
    if not versions:
        key = keys.name("ssl.enabled.protocols")
        raise ConfigError(
            f"Invalid value {','.join(named)} for configuration {key}: none of {', '.join(_VERSIONS)}.", key=key
        )
    context.minimum_version, context.maximum_version = min(versions), max(versions)


def _load_identity(context: ssl.SSLContext, keys: _Keys) -> bool:
    """Load certificate and key; return False if none are configured."""
    chain, key = keys.get("ssl.keystore.certificate.chain"), keys.get("ssl.keystore.key")
    location = keys.get("ssl.keystore.location")
    if not location and not chain:
        return False
    # Without a password of its own OpenSSL would ask for one on the terminal, and wait.
    password = keys.get("ssl.key.password")
    if chain:
        with _as_file(f"{key}\n{chain}\n") as path:
            _load(keys.name("ssl.keystore.certificate.chain"), "", context.load_cert_chain, path, None, password)
        return True
    name = keys.name("ssl.keystore.location")
    _check_pem(keys, "ssl.keystore", location, "openssl pkcs12 -in FILE -out FILE.pem -nodes")
    _load(name, location, context.load_cert_chain, location, None, password)
    return True


def _load_trust(keys: _Keys, load: Callable[..., T]) -> T | None:
    """Return what `load` makes of the trust store, given as its `cadata` or `cafile`; None if none is configured."""
    certificates, location = keys.get("ssl.truststore.certificates"), keys.get("ssl.truststore.location")
    if certificates:
        name = keys.name("ssl.truststore.certificates")
        return _load(name, "", lambda: load(cadata=_unescaped(certificates)))
    if location:
        _check_pem(keys, "ssl.truststore", location, "keytool -exportcert -rfc -keystore FILE -alias NAME")
        return _load(keys.name("ssl.truststore.location"), location, lambda: load(cafile=location))
    return None


def _check_pem(keys: _Keys, store: str, location: str, convert: str) -> None:
    kind = keys.get(f"{store}.type").strip().upper()
    if kind == "PEM" or (not kind and location.lower().endswith((".pem", ".crt", ".cer"))):
        return
    key = keys.name(f"{store}.type")
    raise ConfigError(
        f"{keys.name(f'{store}.location')} is of type {kind or 'JKS'}, but the REST server reads PEM.",
        key=key,
        fix=f"Convert it ({convert}) and set {key}=PEM.",
    )


def _load(key: str, path: str, load: Callable[..., T], *arguments: object) -> T:
    where = f"File {path} of {key}" if path else f"The value of {key}"
    try:
        return load(*arguments)
    except FileNotFoundError as error:
        raise ConfigError(f"{where} does not exist.", key=key) from error
    except (ssl.SSLError, OSError, ValueError) as error:
        # The text of OpenSSL's error gives a reason and never the content of a key.
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or type(error).__name__
        raise ConfigError(
            f"{where} cannot be used: {reason}.", key=key, fix="Check that it is PEM, and ssl.key.password."
        ) from error


def _unescaped(text: str) -> str:
    """Return a PEM text with real line ends: a properties file has it in one line, with `\\n` in it or with line
    ends.
    """
    return text.replace("\\n", "\n")


@contextmanager
def _as_file(text: str) -> Iterator[str]:
    """Yield the path of a file with the text. It is in memory if the system can do that, to keep keys off the disk."""
    data = _unescaped(text).encode()
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("pem")
        try:
            os.write(descriptor, data)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pem"
        path.touch(mode=0o600)
        path.write_bytes(data)
        yield str(path)
