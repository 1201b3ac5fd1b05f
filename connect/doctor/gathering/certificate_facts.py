"""Reads when the certificates end that configurations name: files in PEM, and PEM in the value itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from connect.api.allowed_paths import AllowedPaths
from connect.doctor.model.facts import CertificateFacts

_KEY: Final = re.compile(r"(^|\.)ssl\.|certificate|\.ca\.|tls", re.IGNORECASE)
_PEM: Final = b"-----BEGIN CERTIFICATE-----"
_LONGEST_BYTES: Final = 4 << 20


def certificate_facts(owner: str, config: Mapping[str, str], allowed: AllowedPaths) -> Iterator[CertificateFacts]:
    """Yield for each file that `config` names, and may, the certificate that ends first. Skip Java's keystores."""
    for key, value in config.items():
        if not _KEY.search(key):
            continue
        where = f"{owner}, {key}"
        if _PEM.decode() in value:
            yield _read(where, "its value", value.encode())
        elif value.startswith("/") and allowed.allow(value):
            yield from _of_file(where, Path(value))


def _of_file(where: str, path: Path) -> Iterator[CertificateFacts]:
    try:
        if not path.is_file():
            yield CertificateFacts(where, str(path), trouble="there is no such file.")
        elif path.stat().st_size <= _LONGEST_BYTES and _PEM in (found := path.read_bytes()):
            yield _read(where, str(path), found)
    except OSError as error:
        yield CertificateFacts(where, str(path), trouble=f"it cannot be read: {error.strerror}.")


def _read(where: str, path: str, text: bytes) -> CertificateFacts:
    from cryptography import x509

    try:
        ends = min(certificate.not_valid_after_utc for certificate in x509.load_pem_x509_certificates(text))
    except ValueError:
        return CertificateFacts(where, path, trouble="it holds no certificate that can be read.")
    return CertificateFacts(where, path, ends)
