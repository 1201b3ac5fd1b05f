"""Decides after which row the open files of a topic partition end. It is pure and reads no clock.

Rules depend on records only, and never on their batches. So files end at the same offsets if records are read again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from connectors.s3.files.intake import Admitted
    from connectors.s3.files.open_files import OpenFile, OpenFiles


@dataclass(frozen=True, slots=True)
class Rules:
    """Holds the limits at which files end. Each is None if there is no such limit.

    With `ends_slow_files` a file also ends when the topic partition had as many rows as would fill all open files.
    """

    rows: int
    size_bytes: int | None = None
    interval_ms: int | None = None
    on_path_change: bool = False
    max_paths: int | None = None
    ends_slow_files: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """Holds the facts about the rows of a batch, of one topic, that the rules need.

    `names` and `codes` are as in `Paths`. `epoch_ms` are the rows' times as int64 without nulls, or None if no rule
    asks for them. `sizes_end` is the running sum of the rows' sizes as int64, or None if no rule asks for them.
    """

    length: int
    names: Sequence[str]
    codes: pa.Int32Array | None = None
    epoch_ms: pa.Int64Array | None = None
    sizes_end: Sequence[int] | None = None

    def part(self, start: int, stop: int) -> Facts:
        """Return the facts of rows start..stop-1."""
        length = stop - start
        sizes = None if self.sizes_end is None else [self.size_bytes(start, end) for end in range(start + 1, stop + 1)]
        codes = None if self.codes is None else self.codes.slice(start, length)
        times = None if self.epoch_ms is None else self.epoch_ms.slice(start, length)
        return Facts(length, self.names, codes, times, sizes)

    def picked(self, rows: NDArray[np.int64]) -> Facts:
        """Return the facts of these rows, ascending."""
        import pyarrow as pa

        places = pa.array(rows)
        sizes = None
        if self.sizes_end is not None:
            sizes = list(accumulate(self.size_bytes(row, row + 1) for row in rows.tolist()))
        codes = None if self.codes is None else self.codes.take(places)
        return Facts(len(rows), self.names, codes, None if self.epoch_ms is None else self.epoch_ms.take(places), sizes)

    def path(self, row: int) -> str:
        """Return the path of a row."""
        return self.names[0 if self.codes is None else self.codes[row].as_py()]

    def size_bytes(self, start: int, stop: int) -> int:
        """Return the bytes of rows start..stop-1; 0 if no rule asks for sizes."""
        if self.sizes_end is None or stop == start:
            return 0
        return self.sizes_end[stop - 1] - (self.sizes_end[start - 1] if start else 0)


def joined_facts(parts: Sequence[Facts]) -> Facts:
    """Return the facts of the rows of all parts."""
    import numpy as np
    import pyarrow as pa

    places: dict[str, int] = {}
    codes = []
    for part in parts:
        known = np.array([places.setdefault(name, len(places)) for name in part.names], np.int32)
        codes.append(np.repeat(known, part.length) if part.codes is None else known[part.codes.to_numpy()])
    sizes: list[int] | None = None
    if parts[0].sizes_end is not None:
        rows = (part.size_bytes(row, row + 1) for part in parts for row in range(part.length))
        sizes = list(accumulate(rows))
    epochs = [part.epoch_ms for part in parts if part.epoch_ms is not None]
    return Facts(
        sum(part.length for part in parts),
        list(places),
        pa.array(np.concatenate(codes)),
        pa.concat_arrays(epochs) if epochs else None,
        sizes,
    )


@dataclass(slots=True)
class Group:
    """Holds the counts of the rows of all open files of a topic partition, since the files ended last."""

    rows: int = 0
    size_bytes: int = 0
    base_ms: int | None = None
    last_path: str | None = None
    places: set[tuple[str, str]] = field(default_factory=set)

    def add(self, topic: str, facts: Facts, paths: Sequence[str], start: int, stop: int) -> None:
        """Count rows start..stop-1, which have these distinct paths."""
        if self.rows == 0 and facts.epoch_ms is not None:
            self.base_ms = facts.epoch_ms[start].as_py()
        self.rows += stop - start
        self.size_bytes += facts.size_bytes(start, stop)
        self.last_path = facts.path(stop - 1)
        self.places.update((topic, path) for path in paths)


def group_end(rules: Rules, group: Group, topic: str, facts: Facts, start: int) -> int | None:
    """Return the number of the row before which the files must end, which may be `start`, or None if they go on."""
    ends = [start + max(rules.rows - group.rows, 0)]
    ends.extend(_size_end(rules, group, facts, start))
    ends.extend(_interval_end(rules, group, facts, start))
    ends.extend(_path_end(rules, group, facts, start))
    ends.extend(_places_end(rules, group, topic, facts, start))
    end = min(ends)
    return end if end <= facts.length else None


def is_full(rules: Rules, group: Group, facts: Facts) -> bool:
    """Return True if files must end behind a poll. It is asked for interleaved rows, among which no file can end."""
    import pyarrow.compute as pc

    if group.rows >= rules.rows or (rules.size_bytes is not None and group.size_bytes >= rules.size_bytes):
        return True
    if rules.max_paths is not None and len(group.places) >= rules.max_paths:
        return True
    if rules.interval_ms is None or facts.epoch_ms is None or group.base_ms is None:
        return False
    return bool(pc.max(facts.epoch_ms).as_py() - group.base_ms >= rules.interval_ms)


def _size_end(rules: Rules, group: Group, facts: Facts, start: int) -> Iterator[int]:
    if rules.size_bytes is None or facts.sizes_end is None:
        return
    before = facts.sizes_end[start - 1] if start else 0
    last = bisect_left(facts.sizes_end, before + rules.size_bytes - group.size_bytes, start)
    if last < facts.length:
        yield last + 1


def _interval_end(rules: Rules, group: Group, facts: Facts, start: int) -> Iterator[int]:
    import pyarrow.compute as pc

    if rules.interval_ms is None or facts.epoch_ms is None:
        return
    base = facts.epoch_ms[start].as_py() if group.base_ms is None else group.base_ms
    late = pc.index(pc.greater_equal(facts.epoch_ms.slice(start), base + rules.interval_ms), value=True).as_py()
    if late >= 0:
        yield start + late


def _path_end(rules: Rules, group: Group, facts: Facts, start: int) -> Iterator[int]:
    import pyarrow.compute as pc

    if not rules.on_path_change:
        return
    if group.last_path is not None and facts.path(start) != group.last_path:
        yield start
    elif facts.codes is not None:
        other = pc.index(pc.not_equal(facts.codes.slice(start), facts.codes[start]), value=True).as_py()
        if other >= 0:
            yield start + other


def _places_end(rules: Rules, group: Group, topic: str, facts: Facts, start: int) -> Iterator[int]:
    import pyarrow.compute as pc

    if rules.max_paths is None:
        return
    free = rules.max_paths - len(group.places)
    fresh = [code for code, name in enumerate(facts.names) if (topic, name) not in group.places]
    if facts.codes is None:
        firsts = [start] if fresh else []
    else:
        rest = facts.codes.slice(start)
        firsts = sorted(start + at for code in fresh if (at := pc.index(rest, code).as_py()) >= 0)
    if len(firsts) > free:
        yield firsts[free]


class Rotation(Protocol):
    """Decides to which file each row goes, when files end, and which offset may be committed.

    It is owned by the task thread.
    """

    @property
    def ends_by_poll(self) -> bool:
        """Return True if the number of open files after each poll counts, so that polls must not be held together."""

    def assign(self, part: Admitted, files: OpenFiles, at_ms: int, *, is_consecutive: bool) -> NDArray[np.int64]:
        """Return the number of the file of each row of a part, which is not empty. Files that are full end.

        With `is_consecutive` no row of the same poll that still comes has a lower offset.
        """

    def settle(self, files: OpenFiles) -> None:
        """End files behind the last row of a poll, as the rules say. All rows of the poll are assigned."""

    def end(self, files: Collection[OpenFile], open_files: OpenFiles) -> None:
        """End these files, at least one, for another reason than the rules. Others end, too, if all end together."""

    def durable(self, least_open: int | None, position: int | None, reach: int) -> int | None:
        """Return the next offset to commit, or None if it is not known yet.

        `least_open` is the offset of the first row that is in no object yet, or None if there is none. `position` is
        the next offset to read. `reach` is the offset behind the last row that any object has.
        """
