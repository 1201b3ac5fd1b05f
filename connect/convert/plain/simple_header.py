"""Writes header values as text, and infers their types, as org.apache.kafka.connect.storage.SimpleHeaderConverter."""

from __future__ import annotations

from connect.api.records import Header
from connect.api.values.parse import parse_string, text_of
from connect.convert.plain.config import NoConfig


def simple_header(config: NoConfig, *, is_key: bool = False) -> SimpleHeaderConverter:  # noqa: ARG001 - no settings
    """Return the SimpleHeaderConverter."""
    return SimpleHeaderConverter()


class SimpleHeaderConverter:
    """Converts header values to text and back.

    An array or map without a common element type is read schemaless, as Connect's schema has no such type.
    """

    def encode(self, topic: str, header: Header) -> bytes | None:  # noqa: ARG002 - of the protocol
        """Return the value's text in UTF-8; None for a null value."""
        if header.value is None:
            return None
        return text_of(header.value, header.schema).encode("utf-8", "replace")

    def decode(self, topic: str, key: str, data: bytes | None) -> Header:  # noqa: ARG002 - of the protocol
        """Return the typed value; bytes that are no UTF-8 are read with U+FFFD, as Java does."""
        if data is None:
            return Header(key, None)
        typed = parse_string(data.decode("utf-8", "replace"))
        return Header(key, typed.value, typed.schema)
