"""Holds the result of an evaluation: checks, their evidence, and the verdict that they give. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

from connect.api.errors import ConfigError

SCHEMA_CHANGE: Final = (9, "Schema change")
"""Identifies the check of schema changes, of sources and sinks alike, by its number and name."""


class Outcome(StrEnum):
    """Tells how a check went."""

    PASS = "pass"  # noqa: S105 - no password
    WARN = "warn"
    FAIL = "fail"
    NOT_TESTED = "not tested"


class Verdict(StrEnum):
    """Tells if the connector fits, by all checks together."""

    FITS = "fits"
    FITS_WITH_WARNINGS = "fits with warnings"
    DOES_NOT_FIT = "does not fit"
    NOT_TESTED = "could not be tested"


EXIT_CODES: Final = {
    Verdict.FITS: 0, Verdict.FITS_WITH_WARNINGS: 1, Verdict.DOES_NOT_FIT: 2, Verdict.NOT_TESTED: 3,
}  # fmt: skip
_REASONS: Final = 3


@dataclass(frozen=True, slots=True)
class Table:
    """Shows evidence as rows of text under column names."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Setting:
    """Advises a setting, and says why. If `value` is None, the advice is to take the key out."""

    key: str
    value: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Shows how a number changed over time. Each point has the seconds since the run began, and the number at that
    moment.
    """

    title: str
    unit: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Check:
    """Holds one check and its outcome.

    `summary` is one sentence. `defects` are names that `--fail-on` knows, such as lost or lossy. `connector` is the
    connector's name if several are evaluated, or else empty.
    """

    number: int
    name: str
    outcome: Outcome
    summary: str
    tables: Sequence[Table] = ()
    settings: Sequence[Setting] = ()
    defects: frozenset[str] = frozenset()
    took_s: float = 0.0
    done_with: int | None = None
    """This is the number of the check whose time includes this one's; it is None if `took_s` is this check's own
    time.
    """
    connector: str = ""
    charts: Sequence[Chart] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    """Holds the numbers by which two evaluations are compared; their names contain the unit."""


DEFECTS: Final = frozenset({
    "lost", "duplicate", "changed", "invented", "lossy", "refused", "empty", "stuck", "lag", "schema", "reach",
    "cursor",
})  # fmt: skip
"""These are the defects that a check can find."""


def defects_of(text: str) -> frozenset[str]:
    """Return the defects that a comma-separated text names. ConfigError: no check finds one of them. Pure."""
    named = frozenset(name.strip() for name in text.split(",") if name.strip())
    if unknown := sorted(named - DEFECTS):
        raise ConfigError(
            f"--fail-on: no check finds {', '.join(unknown)}.",
            key="fail-on",
            fix=f"There are {', '.join(sorted(DEFECTS))}.",
        )
    return named


@dataclass(frozen=True, slots=True)
class Result:
    """Holds the result of a whole evaluation.

    `configs` holds the masked configuration of each connector by name, `environment` versions by name. `started_s` is
    in seconds since 1970.
    """

    id: str
    configs: Mapping[str, Mapping[str, str]]
    started_s: float
    took_s: float
    checks: Sequence[Check]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def connector(self) -> str:
        """Return the names of the connectors, joined by "and"."""
        return " and ".join(self.configs)

    @property
    def verdict(self) -> Verdict:
        """Return the verdict of the worst outcome. A connector that could not be run at all was not tested."""
        outcomes = {check.outcome for check in self.checks}
        if Outcome.FAIL in outcomes:
            return Verdict.DOES_NOT_FIT
        if Outcome.PASS not in outcomes and Outcome.WARN not in outcomes:
            return Verdict.NOT_TESTED
        return Verdict.FITS_WITH_WARNINGS if Outcome.WARN in outcomes else Verdict.FITS

    @property
    def reasons(self) -> list[str]:
        """Return the three sentences that matter most, the worst first."""
        order = (Outcome.FAIL, Outcome.WARN, Outcome.NOT_TESTED, Outcome.PASS)
        return [c.summary for outcome in order for c in self.checks if c.outcome is outcome][:_REASONS]

    def exit_code(self, fail_on: frozenset[str] = frozenset()) -> int:
        """Return the exit code of a command that shows this result.

        It is 0 for fits, 1 with warnings, 2 for does not fit or has a defect of `fail_on`, 3 for could not be tested.
        """
        if any(check.defects & fail_on for check in self.checks):
            return EXIT_CODES[Verdict.DOES_NOT_FIT]
        return EXIT_CODES[self.verdict]

    def settings_of(self, connector: str) -> list[Setting]:
        """Return the advised settings of a connector, each key once."""
        alone = len(self.configs) == 1
        checks = [check for check in self.checks if alone or check.connector == connector]
        return list({setting.key: setting for check in checks for setting in check.settings}.values())

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        checks = [{**asdict(check), "defects": sorted(check.defects)} for check in self.checks]
        return {
            "id": self.id,
            "connector": self.connector,
            "verdict": self.verdict.value,
            "reasons": self.reasons,
            "started_s": self.started_s,
            "took_s": self.took_s,
            "checks": checks,
            "configs": {name: dict(config) for name, config in self.configs.items()},
            "environment": dict(self.environment),
        }
