"""Seals the values of records of the config topic by AES-GCM, and opens them. No I/O, no state.

A sealed value is JSON: `{"sealed":1,"key":"9f86d081","nonce":"…","text":"…"}`. `sealed` is the number of the form, and
`key` the first eight hexadecimal digits of the key's SHA-256. The nonce and the sealed text with its tag are in base64.
The key of the record is authenticated with it, so that a value that was moved to another connector does not open.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from connect.cluster.model.record_json import KeyedBytes, RecordFormatError, compact_json, json_object, member
from connect.runtime.settings.encryption_keys import ENCRYPTION_KEY, encryption_keys
from connect.runtime.settings.worker_config import WorkerConfig

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FORM: Final = 1
_BEGIN: Final = b'{"sealed":'
_NONCE_BYTES: Final = 12
# The keys of records that hold a configuration or another secret begin with these.
_SEALED: Final = (b"connector-", b"task-", b"history-config-", b"session-key")


class SealError(RecordFormatError):
    """Raised if a sealed value cannot be opened, as it is damaged or belongs to another record."""


class NoKeyError(SealError):
    """Raised if a value is sealed by a key that the worker lacks, or in a form that this version does not know."""


class RecordSeals:
    """Holds the keys of a worker. The first key seals; each of them may open."""

    def __init__(self, keys: Sequence[bytes | None] = ()) -> None:
        """Take keys of 32 bytes each. Nothing is sealed if there are none, or if the first is None."""
        self._ciphers: Mapping[str, AESGCM] = {_id(key): _cipher(key) for key in keys if key is not None}
        self._first = _id(keys[0]) if keys and keys[0] is not None else None

    @classmethod
    def of(cls, worker: WorkerConfig) -> RecordSeals:
        """Return the seals with the keys of a worker's file."""
        given = worker.config_storage_encryption_key
        return cls() if given is None else cls(encryption_keys(given.get_secret_value()))

    @property
    def has_keys(self) -> bool:
        """Return True if there is a key that seals or opens."""
        return bool(self._ciphers)

    @property
    def sealed_by(self) -> str:
        """Return the name for logs of the key that seals new records."""
        return "none" if self._first is None else self._first

    def seal(self, record: KeyedBytes) -> KeyedBytes:
        """Return a record as it is written to the topic, sealed if it has to be. A tombstone stays one."""
        if self._first is None or record.value is None or not record.key.startswith(_SEALED):
            return record
        nonce = os.urandom(_NONCE_BYTES)
        text = self._ciphers[self._first].encrypt(nonce, record.value, record.key)
        members = {"sealed": FORM, "key": self._first, "nonce": _base64(nonce), "text": _base64(text)}
        return KeyedBytes(record.key, compact_json(members))

    def open(self, key: bytes | None, value: bytes | None) -> bytes | None:
        """Return a record's value in plain text, opened if it is sealed. SealError; NoKeyError."""
        if key is None or value is None or not value.startswith(_BEGIN):
            return value
        members = json_object(value)
        if members.get("sealed") != FORM:
            raise NoKeyError(f"it is sealed in the form {members.get('sealed')!r}, and this version knows {FORM}")
        name = member(members, "key", str)
        if name not in self._ciphers:
            raise NoKeyError(f"it is sealed by key {name!r}, and {self._told()}")
        from cryptography.exceptions import InvalidTag

        try:
            nonce, text = (base64.b64decode(member(members, part, str), validate=True) for part in ("nonce", "text"))
            return self._ciphers[name].decrypt(nonce, text, key)
        except (InvalidTag, binascii.Error, ValueError) as error:
            raise SealError(
                f"it is damaged, or was moved here from another record: key {name!r} does not open it"
            ) from error

    def is_plain(self, key: bytes | None, value: bytes | None) -> bool:
        """Return True if a record holds a configuration or a secret, and is not sealed."""
        return key is not None and value is not None and key.startswith(_SEALED) and not value.startswith(_BEGIN)

    def is_current(self, key: bytes, value: bytes | None) -> bool:
        """Return True if a record is as this worker would write it, sealed by the first key or not at all."""
        if value is None or not key.startswith(_SEALED):
            return True
        if not value.startswith(_BEGIN):
            return self._first is None
        return json_object(value).get("key") == self._first

    def _told(self) -> str:
        if not self._ciphers:
            return f"{ENCRYPTION_KEY} is not set"
        return f"{ENCRYPTION_KEY} has {', '.join(map(repr, self._ciphers))}"


def _cipher(key: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


def _id(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:8]


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
