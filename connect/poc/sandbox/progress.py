"""Collects the checks of an evaluation: each is timed, and reported as soon as it is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from connect.api.errors import ConnectError
from connect.poc.sandbox.result import Check, Outcome

Say = Callable[[str], None]


@dataclass(slots=True)
class CheckProgress:
    """Collects the checks of one connector.

    `connector` is its name if several are evaluated together, or else empty.
    """

    say: Say
    connector: str = ""
    checks: list[Check] = field(default_factory=list)
    _began_s: float = field(default_factory=time.monotonic)

    def note(self, *checks: Check) -> None:
        """Note checks that are done. The first gets the time since the last check; the others count as done with it."""
        now_s = time.monotonic()
        for check in checks:
            first = None if check is checks[0] else checks[0].number
            took_s = 0.0 if first else now_s - self._began_s
            self.checks.append(replace(check, took_s=took_s, done_with=first, connector=self.connector))
            whose = f"{self.connector}, " if self.connector else ""
            self.say(f"{whose}{check.number}. {check.name}: {check.outcome.value}. {check.summary}")
        self._began_s = now_s

    def attempt(self, number: int, name: str, check: Callable[[], Check]) -> None:
        """Do a check and note it. A check that raises ConnectError has failed for that reason."""
        try:
            done = check()
        except ConnectError as error:
            done = Check(number, name, Outcome.FAIL, f"It could not be run to its end: {error}")
        self.note(done)

    @property
    def has_failed(self) -> bool:
        """Return True if one of the checks failed."""
        return any(check.outcome is Outcome.FAIL for check in self.checks)

    def outcome_of(self, number: int) -> Outcome | None:
        """Return the outcome of the check with this number; None while it is not done."""
        return next((check.outcome for check in self.checks if check.number == number), None)


def checks_of(parts: Sequence[CheckProgress]) -> list[Check]:
    """Return the checks of all connectors, in their order."""
    return [check for part in parts for check in sorted(part.checks, key=lambda check: check.number)]
