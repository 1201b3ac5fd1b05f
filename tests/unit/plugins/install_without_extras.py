"""Imports as in an install without extras: what only extras bring cannot be imported, though it is installed here."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib.machinery import ModuleSpec
from importlib.metadata import packages_distributions
from types import ModuleType

from needed_distributions import needed
from packaging.utils import canonicalize_name

from connect.plugins.extras import PACKAGE


class _Refusing:
    """A finder that knows none of these modules."""

    def __init__(self, refused: Collection[str]) -> None:
        self._refused = refused

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in self._refused:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


@contextmanager
def lacking(refused: Collection[str]) -> Iterator[None]:
    """An install that lacks these modules; those of the product are imported anew in it."""
    finder = _Refusing(refused)
    for name in [name for name in sys.modules if name.partition(".")[0] in {"connect", "connectors"}]:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def install(*extras: str) -> AbstractContextManager[None]:
    """An install with these extras of the product alone."""
    allowed = needed(PACKAGE, frozenset(extras))
    known = packages_distributions().items()
    return lacking({module for module, names in known if not set(map(canonicalize_name, names)) & allowed})
