"""Makes the key with which Java workers sign requests to each other: kept in the config topic, renewed by the leader.

Workers here send no such requests; the record keeps the topic complete for tools, and for the way back to Java.
"""

from __future__ import annotations

import base64
import secrets
from typing import Final

from connect.cluster.model.config_records import SessionKeyRecord

SIZE_BYTES: Final = 64
"""What Java's KeyGenerator makes for HmacSHA256 when inter.worker.key.size is not set."""


def needs_rotation(known: SessionKeyRecord | None, now_ms: int, ttl_ms: int) -> bool:
    """Return True if there is no key, or it is too old; a ttl of 0 keeps it for ever."""
    return known is None or (ttl_ms > 0 and now_ms - known.created_ms >= ttl_ms)


def new_session_key(now_ms: int) -> SessionKeyRecord:
    """Return a random key."""
    return SessionKeyRecord(base64.b64encode(secrets.token_bytes(SIZE_BYTES)).decode(), "HmacSHA256", now_ms)
