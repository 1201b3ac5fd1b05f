"""Finds the extra of this package that brings a missing module, by the metadata of what is installed."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires
from typing import Final

PACKAGE: Final = "connect-for-kafka"
_REQUIREMENT: Final = re.compile(r"""(?P<name>[\w.-]+).*\bextra == ["'](?P<extra>[\w-]+)["']""")


def pip_line(module: str, asked_by: str = "") -> str | None:
    """Return the command to run so that `module` (dotted) can be imported; None: no extra is known to bring it.

    Of several extras that bring it, the one with a name out of `asked_by`, the path of what wants it, comes before the
    first one.
    """
    wanted = _normal(module)
    found = (_REQUIREMENT.match(text) for text in _requirements()) if wanted else ()
    extras = [one["extra"] for one in found if one is not None and _brings(_normal(one["name"]), wanted)]
    places = set(re.split(r"\W", asked_by))
    extra = next((one for one in extras if one.partition("-")[0] in places), next(iter(extras), None))
    return f"pip install '{PACKAGE}[{extra}]'" if extra else None


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
