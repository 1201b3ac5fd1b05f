"""Remembers the ids of the events that were sent on, in a ring of slots, each an entry of the state topic. Pure.

A slot's entry is written anew each time ids are added to it. When the ring comes round the oldest slot is overwritten,
so that compaction bounds the size of the topic.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from connect.api.state import StateEntry

ID_BYTES: Final = 16
SLOT_IDS: Final = 250
_NUMBER_BYTES: Final = 8


class SeenIds:
    """Remembers at least the last `most` ids of a partition. Owned by the task thread."""

    def __init__(self, name: bytes, most: int) -> None:
        """Remember at least `most` ids. The keys of the entries begin with `name`."""
        self._name = name
        self._slots_most = -(-most // SLOT_IDS) + 1
        self._slots: deque[tuple[int, list[bytes]]] = deque()
        self._ids: set[bytes] = set()
        self._changed: set[int] = set()
        self._forgotten: list[bytes] = []

    def __contains__(self, event_id: bytes) -> bool:
        return event_id in self._ids

    def __len__(self) -> int:
        return len(self._ids)

    def load(self, entries: Iterable[StateEntry]) -> None:
        """Take over the entries whose keys begin with the name; if there are several of a key, the last one counts.

        Entries that were written when the ring had another size have other keys. They are written anew under their own.
        """
        newest = {entry.key: entry.value for entry in entries}
        found: dict[int, list[bytes]] = {}
        keys: dict[int, bytes] = {}
        for key, value in newest.items():
            if value is not None:
                number = int.from_bytes(value[:_NUMBER_BYTES], "big")
                ids = [value[at : at + ID_BYTES] for at in range(_NUMBER_BYTES, len(value), ID_BYTES)]
                if len(ids) >= len(found.get(number, ())):
                    found[number], keys[number] = ids, key
        oldest = max(found, default=0) - self._slots_most + 1
        for number in sorted(number for number in found if number >= oldest):
            self._slots.append((number, found[number]))
            self._ids.update(found[number])
            if keys[number] != self._key(number):
                self._changed.add(number)
        kept = {self._key(number) for number, _ in self._slots}
        self._forgotten = [key for key, value in newest.items() if value is not None and key not in kept]

    def add(self, event_id: bytes) -> None:
        """Remember that the event with this id is sent on."""
        if not self._slots or len(self._slots[-1][1]) >= SLOT_IDS:
            self._slots.append((self._slots[-1][0] + 1 if self._slots else 0, []))
            if len(self._slots) > self._slots_most:
                self._ids.difference_update(self._slots.popleft()[1])
        number, ids = self._slots[-1]
        ids.append(event_id)
        self._ids.add(event_id)
        self._changed.add(number)

    def take_changes(self) -> list[StateEntry]:
        """Return the entries that have changed since the last call, and before them those that are deleted."""
        changed = [StateEntry(key, None) for key in self._forgotten]
        changed += [
            StateEntry(self._key(number), number.to_bytes(_NUMBER_BYTES, "big") + b"".join(ids))
            for number, ids in self._slots
            if number in self._changed
        ]
        self._changed.clear()
        self._forgotten.clear()
        return changed

    def _key(self, number: int) -> bytes:
        return self._name + str(number % self._slots_most).encode()
