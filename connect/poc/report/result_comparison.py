"""Compares two results of evaluations: outcomes and figures of each check. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connect.api.errors import ConfigError

NONE = "–"


@dataclass(frozen=True, slots=True)
class Line:
    """Holds one figure or outcome, as it is on each side."""

    what: str
    left: str
    right: str

    @property
    def differs(self) -> bool:
        """Return True if the two sides differ, so that a person should look."""
        return self.left != self.right


def compare_results(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[Line]:
    """Return lines for verdict, outcomes, figures, and keys that differ.

    ConfigError: one of the two is no result of an evaluation.
    """
    for result in (left, right):
        if not isinstance(result, Mapping) or not {"verdict", "checks", "configs"} <= set(result):
            raise ConfigError("This is no result of connect poc.", fix="Give files that --json has written.")
    lines = [Line("verdict", left["verdict"], right["verdict"])]
    ours, theirs = _checks(left), _checks(right)
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        one, other = ours.get(name, {}), theirs.get(name, {})
        lines.append(Line(name, one.get("outcome", NONE), other.get("outcome", NONE)))
        figures = {**one.get("figures", {}), **other.get("figures", {})}
        lines += [Line(f"{name}: {figure}", _number(one, figure), _number(other, figure)) for figure in sorted(figures)]
    mine, yours = _settings(left), _settings(right)
    keys = sorted(key for key in {*mine, *yours} if mine.get(key) != yours.get(key))
    return lines + [Line(key, mine.get(key, NONE), yours.get(key, NONE)) for key in keys]


def as_text(lines: Sequence[Line], names: tuple[str, str]) -> str:
    """Return a table for a terminal; `*` marks lines that differ."""
    rows = [(" ", "", *names), *(("*" if line.differs else " ", line.what, line.left, line.right) for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _checks(result: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    many = len(result["configs"]) > 1
    return {
        f"{check['connector']}: {check['name']}" if many and check.get("connector") else check["name"]: check
        for check in result["checks"]
    }


def _settings(result: Mapping[str, Any]) -> dict[str, str]:
    many = len(result["configs"]) > 1
    return {
        f"{name}: {key}" if many else key: str(value)
        for name, config in result["configs"].items()
        for key, value in config.items()
    }


def _number(check: Mapping[str, Any], figure: str) -> str:
    value = check.get("figures", {}).get(figure)
    return NONE if value is None else f"{value:,.6g}"
