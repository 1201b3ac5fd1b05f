"""What a cluster promises about a connector, as its README and Kafka Connect's REST API tell it; none of its code.

A request that was not answered may have been done, may be done later, or never. So the model keeps all truths that are
possible after what was asked and answered. An answer that fits none of them is a defect.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

LATE_S: Final = 60.0
"""A request that was given up may still be done for so long: it waits in a frozen worker, or for a frozen broker."""
_CONFLICTS: Final = ("conflicting operation", "no known leader", "rebalance", "starting", "shutting down")
_UNCHECKED: Final = "own check of its configuration"


class Truth(NamedTuple):
    """One connector: what is asked of it. `revision` 0: there is none."""

    revision: int
    tasks: int
    state: str


ABSENT: Final = Truth(0, 0, "")


class Answer(NamedTuple):
    """A status code and what came with it; 0: none came."""

    status: int
    text: str = ""

    @property
    def is_known(self) -> bool:
        """Tell whether it says what was done."""
        is_conflict = self.status == 409 and any(words in self.text for words in _CONFLICTS)
        return 0 < self.status < 500 and not is_conflict


@dataclass(frozen=True)
class Operation:
    """One change that a client asks for."""

    kind: str
    revision: int = 0
    tasks: int = 0
    start: int = 0
    """Of the kind `set_offsets`: the next number of each share."""

    def expected(self, now: Truth) -> tuple[int, Truth]:
        """Return the status code, and what is true then."""
        if self.kind == "create":
            return (201, Truth(self.revision, self.tasks, "RUNNING")) if now == ABSENT else (409, now)
        if self.kind == "save":
            is_new = now == ABSENT
            return (201 if is_new else 200), Truth(self.revision, self.tasks, "RUNNING" if is_new else now.state)
        if now == ABSENT:
            return 404, now
        if self.kind in {"set_offsets", "reset_offsets"}:
            return (200 if now.state == "STOPPED" else 400), now
        return {
            "pause": (202, now._replace(state="PAUSED")),
            "resume": (202, now._replace(state="RUNNING")),
            "stop": (204, now._replace(state="STOPPED")),
            "restart": (202, now),
            "delete": (204, ABSENT),
            "delete_all": (204, ABSENT),
        }[self.kind]

    def effects(self, now: Truth) -> set[Truth]:
        """Return what may be true when nobody knows whether it was done."""
        after = self.expected(now)[1]
        # With its offsets, a connector is stopped before it is deleted.
        half_way = {now._replace(state="STOPPED")} if self.kind == "delete_all" and now != ABSENT else set()
        return {now, after} | half_way

    def after(self, now: Truth, answer: Answer) -> set[Truth]:
        """Return what may be true after this answer; empty when it cannot have come."""
        if not answer.is_known:
            return self.effects(now)
        if self.kind in {"create", "save"} and answer.status == 400 and _UNCHECKED in answer.text:
            return {now}  # nothing was done: a frozen broker keeps the connector's own check from ending
        status, after = self.expected(now)
        return {after} if status == answer.status else set()


class Asked(NamedTuple):
    """A change, when it was asked for and answered (ns since 1970), and how."""

    operation: Operation
    answer: Answer
    sent_ns: int
    answered_ns: int


class PromiseError(AssertionError):
    """The product did what its README does not allow."""


@dataclass
class Connector:
    """What may be true of one connector."""

    name: str
    possible: set[Truth] = field(default_factory=lambda: {ABSENT})
    asked: list[Asked] = field(default_factory=list)
    late: list[Asked] = field(default_factory=list)
    """What may still be done."""

    def take(self, together: Sequence[Asked]) -> None:
        """Take what was asked at one time, in whatever order it was done. PromiseError."""
        before = self._with_late(self.possible)
        after: set[Truth] = set()
        for order in itertools.permutations(together):
            truths = before
            for one in order:
                truths = {truth for now in truths for truth in one.operation.after(now, one.answer)}
            after |= truths
        if not after:
            answers = [(one.operation, one.answer) for one in together]
            raise PromiseError(f"{self.name} was one of {sorted(before)}; no order of {answers} fits.")
        self.asked += together
        self.late += [one for one in together if not one.answer.is_known]
        self.possible = self._with_late(after)

    def allowed(self) -> set[Truth]:
        """Return what may be true now."""
        return self._with_late(self.possible)

    def settle(self, seen: Truth, healed_ns: int = 0) -> None:
        """Take what is seen for true, if it may be; the last fault was healed at `healed_ns`. PromiseError."""
        if seen not in self.allowed():
            raise PromiseError(f"{self.name} is {seen}, and may be only {sorted(self.allowed())}.")
        self.possible = {seen}
        # Only here: what was late before may be done by now, so that it is part of what may be seen.
        since_ns = time.time_ns() - int(LATE_S * 1e9)
        self.late = [one for one in self.late if max(one.answered_ns, healed_ns) > since_ns]

    def _with_late(self, truths: Iterable[Truth]) -> set[Truth]:
        late = [one.operation for one in self.late]
        found, new = set(truths), set(truths)
        while new:
            new = {effect for now in new for operation in late for effect in operation.effects(now)} - found
            found |= new
        return found
