"""Finds the extra of this package that brings a missing module, by the metadata of what is installed."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires
from typing import Final

PACKAGE: Final = "connect-for-kafka"
_REQUIREMENT: Final = re.compile(r"""(?P<name>[\w.-]+).*\bextra == ["'](?P<extra>[\w-]+)["']""")


def pip_line(module: str) -> str | None:
    """Return the command to run so that `module` (dotted) can be imported; None: no extra is known to bring it."""
    wanted = _normal(module)
    if not wanted:
        return None
    for text in _requirements():
        found = _REQUIREMENT.match(text)
        if found is not None and _brings(_normal(found["name"]), wanted):
            return f"pip install '{PACKAGE}[{found['extra']}]'"
    return None


def _requirements() -> list[str]:
    try:
        return requires(PACKAGE) or []
    except PackageNotFoundError:
        return []  # run from its sources


def _brings(distribution: str, module: str) -> bool:
    """Tell if a distribution brings a module.

    Distributions have the name of their module, of the package it is in, or that and a word: cassandra-driver.
    """
    return f"{module}-".startswith(f"{distribution}-") or f"{distribution}-".startswith(f"{module}-")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
