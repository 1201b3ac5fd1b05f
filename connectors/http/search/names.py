"""Names the index of a topic as Confluent's and Aiven's sinks do. Pure."""

from __future__ import annotations

from typing import Final

INDEX_BYTES: Final = 255
SPACE_CHARS: Final = 100
"""The namespace of a data stream is cut at so many characters."""


def index_name(topic: str, marks: str) -> str:
    """Return a topic's name in lower case, without its first character if that is one of `marks`.

    No index begins with one of these, and none is a dot or two: such a topic has them in words.
    """
    name = topic.lower().encode()[:INDEX_BYTES].decode(errors="ignore")
    name = name[1:] if name.startswith(tuple(marks)) else name
    return name.replace(".", "dot") if name in {".", ".."} else name


def is_index_name(name: str) -> bool:
    """Return True if an index or a data stream may begin as this name does. What else is wrong the server tells."""
    return bool(name) and not name.startswith(("-", "_", "+")) and name not in {".", ".."}
