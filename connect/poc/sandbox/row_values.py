"""Hides in texts what may be a value of a row: quoted parts and numbers that are not in the configuration. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

MASKED: Final = "…"
_VALUE: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|b'[^'\n]*'|(?<![\w.])[-+]?\d[\d.,:eE+-]*")


def without_values(text: str, known: Iterable[str]) -> str:
    """Return the text with each quoted part and each number hidden that none of the known texts contains."""
    texts = "\n".join(known)

    def shown(found: re.Match[str]) -> str:
        bare = found.group().strip("'\"`")
        return found.group() if bare and bare in texts else MASKED

    return _VALUE.sub(shown, text)
