"""Says where the agent is in its node's commit log, as a source offset. Values only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from connect.api.errors import ConnectError


@dataclass(frozen=True, slots=True)
class Place:
    """The place that is behind a mutation: its segment and the logical position.

    `finished`: behind all there is in the segment; `damaged`: not all of it could be read, and it is kept. `others`:
    the places in other segments, which were read and may not be deleted yet, or were read in part. `passed`: up to this
    one segments without an index file were read, and have no changes.
    """

    segment: int
    position: int
    finished: bool
    damaged: bool = False
    others: tuple[Place, ...] = ()
    passed: int = 0

    @classmethod
    def of(cls, offset: Mapping[str, Any] | None) -> Place | None:
        """Return the place in a source offset. ConnectError: the offset holds none."""
        if offset is None:
            return None
        numbers = [offset.get("segment"), offset.get("position"), offset.get("passed", 0)]
        others = json.loads(str(offset.get("others", "[]")))
        segment, position, passed = (number if isinstance(number, int) else None for number in numbers)
        if segment is None or position is None or passed is None:
            raise ConnectError(
                f"The stored offset {dict(offset)} names no place in the commit log.",
                fix="Reset the agent's offset: all segments that are still there are then sent again.",
            )
        found = tuple(place for other in others if (place := cls.of(other)) is not None)
        is_finished, is_damaged = offset.get("finished") is True, offset.get("damaged") is True
        return cls(segment, position, is_finished, is_damaged, found, passed)

    @property
    def offset(self) -> Mapping[str, object]:
        """Return the source offset that stores the place."""
        damaged = {"damaged": True} if self.damaged else {}
        # Members of an offset are no lists.
        others = {"others": json.dumps([dict(other.offset) for other in self.others])} if self.others else {}
        passed = {"passed": self.passed} if self.passed else {}
        place = {"segment": self.segment, "position": self.position, "finished": self.finished}
        return {**place, **damaged, **others, **passed}
