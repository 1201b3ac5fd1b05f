"""Asks a connector to examine its user's data (`connect.api.optional.findings`); its findings join the checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from connect.api.errors import ConnectError
from connect.api.optional.findings import Aspect, ExaminingConnector, Finding, Weight
from connect.lib.deadline import Deadline
from connect.poc.sandbox.children import asked_of, reason_of
from connect.poc.sandbox.result import Check, Outcome, Table
from connect.runtime.parts.connector_settings import ConnectorParts, ConnectorSettings

LIMIT_S: Final = 30.0
_ORDER: Final = (Outcome.NOT_TESTED, Outcome.PASS, Outcome.WARN, Outcome.FAIL)
_OUTCOMES: Final = {Weight.TOLD: Outcome.PASS, Weight.WARNS: Outcome.WARN, Weight.FAILS: Outcome.FAIL}


@dataclass(frozen=True, slots=True)
class Examination:
    """Holds what a connector found. `broken` says why the examination ended early; it is None if it did not."""

    findings: Sequence[Finding] = ()
    broken: str | None = None

    def added_to(self, check: Check, aspect: Aspect) -> Check:
        """Return the check with the findings of this aspect.

        Its outcome is no better than that of the worst finding.
        """
        # The check may have a finding already, as a task may have logged it.
        shown = {cell for table in check.tables for row in table.rows for cell in row}
        own = (f for f in self.findings if f.aspect is aspect and f.text not in shown)
        found = sorted(own, key=lambda f: -_rank(f))
        if not found:
            return check
        tables = [*check.tables, Table("What the connector found out", ("finding",), [(f.text,) for f in found])]
        remedies = [(f.remedy,) for f in found if f.remedy]
        if remedies:
            tables.append(Table("What mends it, to be pasted", ("statement",), remedies))
        if _rank(found[0]) <= max(_ORDER.index(check.outcome), _ORDER.index(Outcome.PASS)):
            return replace(check, tables=tables)
        remedy = f" Run: {found[0].remedy}" if found[0].remedy else ""
        return replace(
            check, outcome=_OUTCOMES[found[0].weight], summary=f"{found[0].text}{remedy}", tables=tables,
            defects=check.defects | {aspect.value},
        )  # fmt: skip


def examine(settings: ConnectorSettings) -> Examination:
    """Let the connector examine its user's data; a connector that cannot do so finds nothing."""
    answer = asked_of(settings, "examine", LIMIT_S)
    found = [
        Finding(Aspect(f["aspect"]), f["text"], f["remedy"], Weight(f["weight"])) for f in answer.get("findings", ())
    ]
    return Examination(found, reason_of(answer))


def examined(parts: ConnectorParts, deadline: Deadline) -> dict[str, Any]:
    """Return the findings of a connector, and the error that ended its examination, as values for JSON."""
    findings: list[Finding] = []
    error = None
    try:
        connector = parts.build_connector()
        if isinstance(connector, ExaminingConnector):
            findings.extend(connector.examine(deadline))
    except ConnectError as failed:
        error = str(failed)
    except Exception as failed:  # noqa: BLE001 - whatever a plug-in raises is what the evaluation shows
        error = f"{type(failed).__name__}: {failed}"
    return {"findings": [asdict(finding) for finding in findings], "error": error}


def _rank(finding: Finding) -> int:
    return _ORDER.index(_OUTCOMES[finding.weight])
