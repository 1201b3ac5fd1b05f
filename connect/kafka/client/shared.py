"""Shares objects among owners: one object for each key, which lives as long as one of its owners holds it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class Shared(Generic[T]):
    """Knows the objects that are in use. Any thread may call it."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._in_use: WeakValueDictionary[Hashable, T] = WeakValueDictionary()

    def of(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the object with this key; make it if nobody holds it. It ends when nobody refers to it any more."""
        with self._lock:
            found = self._in_use.get(key)
            if found is None:
                found = self._in_use[key] = make()
            return found
