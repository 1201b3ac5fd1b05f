"""Declares the doctor's findings, and the interface of its checks. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Protocol

from connect.doctor.model.facts import Facts


class Severity(StrEnum):
    """Says how bad a finding is, the worst first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """Tells one thing that is wrong: what was seen, why it matters, and the text that mends it.

    `name` says which of the doctor's questions found it, as `topic-missing`; scripts match by it, so it never changes.
    """

    name: str
    severity: Severity
    subject: str
    evidence: str
    why: str
    fix: str = ""

    def as_json(self) -> dict[str, str]:
        """Return the members of the finding in JSON."""
        return {member: str(value) for member, value in asdict(self).items()}


class Check(Protocol):
    """Judges one subject by the facts, without further questions."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield a finding for each thing that is wrong; yield nothing if the facts for it are not known."""
