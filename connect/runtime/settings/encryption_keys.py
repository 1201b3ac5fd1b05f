"""Declares the worker's keys that seal configurations in the config topic.

Parsing is elsewhere; no I/O here.
"""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Final

from pydantic import AfterValidator, SecretStr

from connect.api.config import Config, Password, key

ENCRYPTION_KEY: Final = "config.storage.encryption.key"
KEY_BYTES: Final = 32
_PLAIN: Final = "none"


def key_texts(given: str) -> list[str]:
    """Return the keys of a list as they are written; each of them is a secret."""
    return [text for part in given.split(",") if (text := part.strip()) and text != _PLAIN]


def encryption_keys(given: str) -> list[bytes | None]:
    """Return the keys of a list; None for `none`, which seals nothing.

    Raise ValueError, whose text shows no key, if one is not 32 bytes in base64, if `none` is not the first, if a key
    is there twice, or if there is no key.
    """
    texts = [part.strip() for part in given.split(",")]
    keys = [_key(number, text, len(texts)) for number, text in enumerate(texts, 1)]
    if len(set(keys)) < len(keys):
        raise ValueError("a key is there twice")
    if not any(keys):
        raise ValueError(f"{_PLAIN} goes before keys that open what is sealed; where nothing is, leave the setting out")
    return keys


def _key(number: int, text: str, of: int) -> bytes | None:
    named = f"key {number} of {of}" if of > 1 else "it"
    if text == _PLAIN:
        if number > 1:
            raise ValueError(f"{_PLAIN} is {named}, and may be the first alone")
        return None
    try:
        found = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != KEY_BYTES:
        raise ValueError(f"{named} is no base64 of {KEY_BYTES} bytes; take `openssl rand -base64 {KEY_BYTES}`")
    return found


def _check_keys(value: SecretStr) -> SecretStr:
    encryption_keys(value.get_secret_value())
    return value


class EncryptionKeys(Config):
    """Holds a worker's settings of secrets at rest."""

    config_storage_encryption_key: Annotated[Password, AfterValidator(_check_keys)] = key(
        ENCRYPTION_KEY,
        None,
        doc="Keys (base64 of 32 bytes each, comma-separated) that seal configurations in the config topic: the first "
        "seals, all of them open, and what another one sealed is written anew by the next leader. `none` as the first "
        "seals nothing. Java's workers cannot read what is sealed. Default: nothing is sealed.",
        importance="low",
    )
