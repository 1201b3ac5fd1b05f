"""Tells which configurations are too large to be validated in the worker beside the requests of others. Pure.

The time of a validation grows with the configuration, and its plug-ins decide how fast. So a worker has a large one
validated in a task host, and validates only smaller ones itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from connect.cluster.validation.rules import comma_separated

LARGE_CHARS: Final = 8192
"""A configuration is large if its keys and values have more characters; few that people write have more."""
LARGE_ALIASES: Final = 16
"""A configuration is also large if it lists more transforms or predicates, as each has keys of its own."""


def is_large(config: Mapping[str, str | None]) -> bool:
    """Tell if a configuration has to be validated in a task host because of its size."""
    if sum(len(key) + len(value or "") for key, value in config.items()) > LARGE_CHARS:
        return True
    return any(len(comma_separated(config.get(key))) > LARGE_ALIASES for key in ("transforms", "predicates"))
