"""Models what a cluster promises about a connector, by its README and Kafka Connect's REST API. It uses no code of
theirs.

A request that was not answered may have been carried out, may be later, or never is. So the model keeps all states that
are possible after the requests and answers so far. An answer that fits none of them is a defect.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

LATE_S: Final = 60.0
"""A request that the client gave up may be carried out for this many seconds: it waits in a frozen worker or for a
broker.
"""
_CONFLICTS: Final = ("conflicting operation", "no known leader", "rebalance", "starting", "shutting down")
_UNCHECKED: Final = "own check of its configuration"


class Truth(NamedTuple):
    """Holds what is asked of one connector. `revision` 0: there is no such connector."""

    revision: int
    tasks: int
    state: str


ABSENT: Final = Truth(0, 0, "")


class Answer(NamedTuple):
    """Holds the status code and the text of an answer; status 0: none came."""

    status: int
    text: str = ""

    @property
    def is_known(self) -> bool:
        """Tell if the answer says what was done."""
        is_conflict = self.status == 409 and any(words in self.text for words in _CONFLICTS)
        return 0 < self.status < 500 and not is_conflict


@dataclass(frozen=True)
class Operation:
    """Holds one change that a client asks for."""

    kind: str
    revision: int = 0
    tasks: int = 0
    start: int = 0
    """For the kind `set_offsets` this is the next number of each share."""

    def expected(self, now: Truth) -> tuple[int, Truth]:
        """Return the status code, and the state after the change."""
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
        """Return the states that are possible if nobody knows if the change was carried out."""
        after = self.expected(now)[1]
        # If a connector is deleted with its offsets, it is stopped first.
        half_way = {now._replace(state="STOPPED")} if self.kind == "delete_all" and now != ABSENT else set()
        return {now, after} | half_way

    def after(self, now: Truth, answer: Answer) -> set[Truth]:
        """Return the states that are possible after this answer; empty if the answer cannot have come."""
        if not answer.is_known:
            return self.effects(now)
        if self.kind in {"create", "save"} and answer.status == 400 and _UNCHECKED in answer.text:
            return {now}  # nothing was done, as a frozen broker keeps the connector's own check from ending
        status, after = self.expected(now)
        return {after} if status == answer.status else set()


class Asked(NamedTuple):
    """Holds a change, when it was sent and answered (ns since 1970), and the answer."""

    operation: Operation
    answer: Answer
    sent_ns: int
    answered_ns: int


class PromiseError(AssertionError):
    """Says that the product did what its README does not allow."""


@dataclass
class Connector:
    """Holds the possible states of one connector."""

    name: str
    possible: set[Truth] = field(default_factory=lambda: {ABSENT})
    asked: list[Asked] = field(default_factory=list)
    late: list[Asked] = field(default_factory=list)
    """These changes may still be carried out."""

    def take(self, together: Sequence[Asked]) -> None:
        """Take changes that were sent at the same time and carried out in any order. PromiseError: the answers are
        impossible.
        """
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
        """Return the states that are possible now."""
        return self._with_late(self.possible)

    def settle(self, seen: Truth, healed_ns: int = 0) -> None:
        """Take the state that was seen as the true one; the last fault was healed at `healed_ns`. PromiseError: it is
        impossible.
        """
        if seen not in self.allowed():
            raise PromiseError(f"{self.name} is {seen}, and may be only {sorted(self.allowed())}.")
        self.possible = {seen}
        # Only now: a late change may have been carried out by now, and be a part of what was seen.
        since_ns = time.time_ns() - int(LATE_S * 1e9)
        self.late = [one for one in self.late if max(one.answered_ns, healed_ns) > since_ns]

    def _with_late(self, truths: Iterable[Truth]) -> set[Truth]:
        late = [one.operation for one in self.late]
        found, new = set(truths), set(truths)
        while new:
            new = {effect for now in new for operation in late for effect in operation.effects(now)} - found
            found |= new
        return found
