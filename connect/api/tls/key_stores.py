"""Reads Java's key stores of type JKS and PKCS12, so that files of a Java configuration can be used as they are.

Source: java.security.KeyStore's type "jks" as OpenJDK writes it, RFC 7292 for PKCS12.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import itertools
import ssl
import struct
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
    pkcs12,
)

from connect.api.errors import ConfigError

_JKS: Final = b"\xfe\xed\xfe\xed"
_DER: Final = b"\x30"
"""A PKCS12 store begins so, and a key of PKCS8 does."""
_SALT_BYTES: Final = 20
_KEY, _TRUSTED = 1, 2


@dataclass(frozen=True, slots=True)
class KeyStore:
    """Holds the content of a store as PEM texts: trusted authorities, and a key with its certificate chain. The repr
    has no key.
    """

    authorities: Sequence[str]
    chain: Sequence[str] = ()
    key: str | None = field(default=None, repr=False)

    def trusted(self) -> str:
        """Return the authorities as PEM. OSError: there are none."""
        if not self.authorities:
            raise OSError("the key store has no authority to trust")
        return "".join(self.authorities)

    def trust_in(self, context: ssl.SSLContext) -> None:
        """Have a context trust the authorities. OSError: there are none."""
        context.load_verify_locations(cadata=self.trusted())

    def show_in(self, context: ssl.SSLContext) -> None:
        """Have a context show the store's own certificate to servers. OSError: the store has no key for it.

        The ssl module reads it from files only.
        """
        if self.key is None:
            raise OSError("the key store has no key, or its password is missing")
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write("".join([self.key, *self.chain]))
            file.flush()
            context.load_cert_chain(file.name)


def is_key_store(path: Path) -> bool:
    """Tell if a file is no PEM file but a key store, or another file of DER, as its first bytes tell. OSError: none."""
    with path.open("rb") as file:
        start = file.read(4)
    return start == _JKS or start[:1] == _DER


def read_key_store(path: Path, password: str, setting: str, key_password: str = "") -> KeyStore:
    """Return the content of a key store's file. `key_password` is that of the key inside; if it is empty, the store's
    password is used.

    ConfigError: the file is no key store, or a password is wrong; the error names `setting`.
    """
    try:
        data = path.read_bytes()
        made = _jks(data, password, key_password or password) if data[:4] == _JKS else _pkcs12(data, password)
    except (OSError, ValueError, struct.error, LookupError, UnicodeDecodeError, UnsupportedAlgorithm) as error:
        raise ConfigError(
            f"{setting}: the key store cannot be read: {error or type(error).__name__}.", key=setting,
            fix="Name a key store of type JKS or PKCS12, and give its password.",
        ) from None  # fmt: skip
    return made


def _pkcs12(data: bytes, password: str) -> KeyStore:
    found = pkcs12.load_pkcs12(data, password.encode() or None)
    others = [_pem(one.certificate) for one in found.additional_certs]
    own = [] if found.cert is None else [_pem(found.cert.certificate)]
    if found.key is None:
        return KeyStore([*own, *others])
    return KeyStore([], [*own, *others], _key_pem(found.key))


def _jks(data: bytes, password: str, key_password: str) -> KeyStore:
    """Return the content of a JKS store. Without a password, as in Java, its digest is not checked, and its keys are
    left out if they have no password either.
    """
    body, told = data[:-_SALT_BYTES], data[-_SALT_BYTES:]
    secret = password.encode("utf-16-be")
    if password and not hmac.compare_digest(_sha1(secret, b"Mighty Aphrodite", body), told):
        raise ValueError("its password is another one, or it was changed")
    file = io.BytesIO(body[4:])
    version, count = struct.unpack(">II", file.read(8))
    authorities: list[str] = []
    chain: list[str] = []
    key: str | None = None
    for _ in range(count):
        (kind,) = struct.unpack(">I", file.read(4))
        _text(file)
        file.read(8)
        if kind == _TRUSTED:
            authorities.append(_certificate(file, version))
        elif kind == _KEY:
            sealed = _counted(file)
            (certificates,) = struct.unpack(">I", file.read(4))
            found = [_certificate(file, version) for _ in range(certificates)]
            if key is None and key_password:
                key, chain = _key_pem(load_der_private_key(_opened(sealed, key_password), None)), found
        else:
            raise ValueError(f"it has an entry of the unknown kind {kind}")
    return KeyStore(authorities, chain, key)


def _opened(sealed: bytes, password: str) -> bytes:
    """Return a key that JKS has encrypted: a salt, the key XORed with a stream of digests, and a digest of the key."""
    content = list(_der(sealed))[-1]
    secret = password.encode("utf-16-be")
    salt, hidden, told = content[:_SALT_BYTES], content[_SALT_BYTES:-_SALT_BYTES], content[-_SALT_BYTES:]
    digests = itertools.accumulate(itertools.count(), lambda last, _: _sha1(secret, last), initial=_sha1(secret, salt))
    stream = itertools.chain.from_iterable(digests)
    key = bytes(one ^ other for one, other in zip(hidden, stream, strict=False))
    if not hmac.compare_digest(_sha1(secret, key), told):
        raise ValueError("the password of its key is another one")
    return key


def _der(sequence: bytes) -> Iterator[bytes]:
    """Yield the contents of the members of a DER sequence."""
    inner = io.BytesIO(_member(io.BytesIO(sequence)))
    while inner.tell() < len(inner.getvalue()):
        yield _member(inner)


def _member(file: io.BytesIO) -> bytes:
    _, length = file.read(2)
    if length & 0x80:
        length = int.from_bytes(file.read(length & 0x7F), "big")
    return file.read(length)


def _certificate(file: io.BytesIO, version: int) -> str:
    if version > 1:
        _text(file)
    return _pem(x509.load_der_x509_certificate(_counted(file)))


def _counted(file: io.BytesIO) -> bytes:
    (length,) = struct.unpack(">I", file.read(4))
    return file.read(length)


def _text(file: io.BytesIO) -> str:
    (length,) = struct.unpack(">H", file.read(2))
    return file.read(length).decode()


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()


def _key_pem(key: PrivateKeyTypes) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _sha1(*parts: bytes) -> bytes:
    return hashlib.sha1(b"".join(parts)).digest()  # noqa: S324 - the format has no other
