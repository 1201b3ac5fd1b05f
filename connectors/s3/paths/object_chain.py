"""Describes the objects of one place as a chain: the key for each start offset, and the search for the last object.

A store lists keys in the order of their text. So start offsets with the same number of digits are in numeric order.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

T = TypeVar("T")
PAGE: Final = 1000
"""S3 gives at most this many keys for one request."""
_AHEAD: Final = 10**9
"""Objects are looked for up to this many offsets behind the first row that is read. If there are later ones, the sink
finds them when it tries to create their keys.
"""
_FIRST_SPAN: Final = 2**12
_GROWTH: Final = 16
_DIGITS: Final = "0123456789"

ListKeys = Callable[[str, str], AsyncIterator[str]]
"""Yields the keys that begin with the first text and come after the second one, in order."""


class ListedObject(NamedTuple):
    """Holds what the key of an object tells: where it starts, and the offset behind its rows if it is a joined one."""

    start: int
    key: str
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """Makes keys of `stem`, the start offset with at least `pad_width` digits, and `extension`."""

    stem: str
    pad_width: int
    extension: str

    @property
    def has_clear_stem(self) -> bool:
        """Return True if the start offset in a key cannot be mistaken for a part of the stem."""
        return self.stem[-1] not in _DIGITS

    def key(self, start_offset: int) -> str:
        """Return the key of the object that starts at this offset."""
        return self._before(start_offset) + self.extension

    def start_offset(self, key: str) -> int | None:
        """Return the start offset in a key, or None if the key does not belong to this chain."""
        if not (key.startswith(self.stem) and key.endswith(self.extension)):
            return None
        digits = key[len(self.stem) : len(key) - len(self.extension)]
        is_number = digits.isascii() and digits.isdigit()
        return int(digits) if is_number and key == self.key(int(digits)) else None

    def listed(self, key: str) -> ListedObject | None:
        """Return what a key of this chain tells, also that of a joined object, or None if the key is of another."""
        if not (key.startswith(self.stem) and key.endswith(self.extension)):
            return None
        start, is_joined, end = key[len(self.stem) : len(key) - len(self.extension)].partition("-")
        if not _is_number(start) or (is_joined and not _is_number(end)):
            return None
        return ListedObject(int(start), key, int(end) if is_joined else None)

    async def objects_between(self, list_keys: ListKeys, low: int, high: int) -> list[ListedObject]:
        """Return the objects, also joined ones, that may hold rows from `low` on and begin before `high`, ascending.

        Of those that begin before `low` these are the last one, and joined ones near it that reach beyond `low`.
        """
        found = [one async for one in self._objects(list_keys, low + 1, high - 1)]
        span, stop = _FIRST_SPAN, low
        while stop >= 0:
            first = max(0, low - span)
            before = [one async for one in self._objects(list_keys, first, stop)]
            if before:
                near = [one for one in before if one.start == before[-1].start or (one.end or 0) > low]
                return [*near, *found]
            stop, span = first - 1, span * _GROWTH
        return found

    async def last_start(self, list_keys: ListKeys, offset: int) -> int | None:
        """Return where the last object starts, looked for around an offset: one request where there are few, else some
        more.

        Return None if there is no object, or none that begins before `offset` or within a thousand million behind it.
        """
        starts = [self.start_offset(key) for key in await _first(list_keys(self.stem, self.stem))]
        if len(starts) < PAGE:
            return max((start for start in starts if start is not None), default=None)
        found = await self._last_between(list_keys, offset, offset + _AHEAD)
        span = _FIRST_SPAN
        while found is None and span // _GROWTH < offset:
            found = await self._last_between(list_keys, max(0, offset - span), offset - 1)
            span *= _GROWTH
        return found

    async def _last_between(self, list_keys: ListKeys, low: int, high: int) -> int | None:
        for width in range(self._width(high), self._width(low) - 1, -1):
            first = max(low, 10 ** (width - 1) if width > self.pad_width else 0)
            found = await self._last_of_width(list_keys, first, min(high, 10**width - 1))
            if found is not None:
                return found
        return None

    async def _last_of_width(self, list_keys: ListKeys, first: int, last: int) -> int | None:
        """Return the last start offset from `first` to `last`, found by halving until a page has the rest."""
        found = None
        while True:
            page = await _first(self._starts(list_keys, first, last))
            found = max(page, default=found)
            if found is None or len(page) < PAGE:
                return found
            middle = (found + last) // 2 + 1
            if await _first(self._starts(list_keys, middle, last), 1):
                first = middle
            else:
                first, last = found + 1, middle - 1

    async def _starts(self, list_keys: ListKeys, first: int, last: int) -> AsyncIterator[int]:
        """Yield the start offsets from `first` to `last`, which have the same number of digits."""
        end = self._before(last)
        async for key in list_keys(self.stem, self._before(first)):
            if key[: len(end)] > end:
                return
            start = self.start_offset(key)
            if start is not None and first <= start <= last:
                yield start

    async def _objects(self, list_keys: ListKeys, first: int, last: int) -> AsyncIterator[ListedObject]:
        """Yield the objects that begin from `first` to `last`, also joined ones, ascending."""
        widths = range(self._width(first), self._width(last) + 1) if first <= last else ()
        for width in widths:
            low = max(first, 10 ** (width - 1) if width > self.pad_width else 0)
            end = self._before(min(last, 10**width - 1))
            async for key in list_keys(self.stem, self._before(low)):
                if key[: len(end)] > end:
                    break
                found = self.listed(key)
                if found is not None and low <= found.start <= last and self._width(found.start) == width:
                    yield found

    def _before(self, start_offset: int) -> str:
        return f"{self.stem}{start_offset:0{self.pad_width}d}" if self.pad_width else f"{self.stem}{start_offset}"

    def _width(self, offset: int) -> int:
        return max(self.pad_width, len(str(offset)))


def last_starts(chains: Collection[Chain], keys: Iterable[str]) -> dict[Chain, int]:
    """Return the start offset of the last object of each chain among `keys`; chains without objects are left out."""
    by_ends = {(chain.stem, chain.extension): chain for chain in chains}
    extensions = {chain.extension for chain in chains}
    found: dict[Chain, int] = {}
    for key in keys:
        for extension in extensions:
            # No search is needed for the stem, as only digits follow it.
            stem = key[: len(key) - len(extension)].rstrip(_DIGITS)
            chain = by_ends.get((stem, extension))
            start = None if chain is None else chain.start_offset(key)
            if chain is not None and start is not None:
                found[chain] = max(start, found.get(chain, start))
    return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


async def _first(items: AsyncIterator[T], most: int = PAGE) -> list[T]:
    found = []
    async for item in items:
        found.append(item)
        if len(found) == most:
            break
    return found
