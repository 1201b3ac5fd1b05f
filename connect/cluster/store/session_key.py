"""Makes the key with which Java workers sign requests to each other. The leader renews it in the config topic.

Workers here send no such requests. The record keeps the topic complete for tools, and for a way back to Java.
"""

from __future__ import annotations

import base64
import secrets
from typing import Final

from connect.cluster.model.config_records import SessionKeyRecord

SIZE_BYTES: Final = 64
"""Java's KeyGenerator makes a key of this size for HmacSHA256 if inter.worker.key.size is not set."""


def needs_rotation(known: SessionKeyRecord | None, now_ms: int, ttl_ms: int) -> bool:
    """Return True if there is no key, or if it is older than `ttl_ms`; a ttl of 0 keeps it for ever."""
    return known is None or (ttl_ms > 0 and now_ms - known.created_ms >= ttl_ms)


def new_session_key(now_ms: int) -> SessionKeyRecord:
    """Return a random key."""
    return SessionKeyRecord(base64.b64encode(secrets.token_bytes(SIZE_BYTES)).decode(), "HmacSHA256", now_ms)
