"""Holds what several owners share, one for equal keys, as long as one of them has it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


class Shared(Generic[T]):
    """Knows what is in use. Any thread may call it."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._in_use: WeakValueDictionary[Hashable, T] = WeakValueDictionary()

    def of(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the one with this key, made where nobody has it. It ends when its last owner lets go of it."""
        with self._lock:
            found = self._in_use.get(key)
            if found is None:
                found = self._in_use[key] = make()
            return found
