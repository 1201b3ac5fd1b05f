"""Tells which configurations are too large to be judged beside the requests of others. Pure.

What is said to one takes time that grows with it, and how fast is its plug-ins' own business. So a worker has a large
one judged in a task host, and has a bound of its own for what it does itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect.cluster.validation.rules import comma_separated

LARGE_CHARS: Final = 8192
"""Keys and values of a configuration with more characters make it a large one; few that people write have more."""
LARGE_ALIASES: Final = 16
"""So does a longer list of transforms or predicates, as each has keys of its own."""


def is_large(config: Mapping[str, str | None]) -> bool:
    """Tell if a configuration is judged in a task host for its size alone."""
    if sum(len(key) + len(value or "") for key, value in config.items()) > LARGE_CHARS:
        return True
    return any(len(comma_separated(config.get(key))) > LARGE_ALIASES for key in ("transforms", "predicates"))
