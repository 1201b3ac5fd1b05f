"""Finds checks by name, as tests need them."""

from __future__ import annotations

from collections.abc import Sequence

from connect.poc.sandbox.result import Check, Outcome


def by_name(checks: Sequence[Check]) -> dict[str, Check]:
    """Return the checks by name; each name must come once."""
    found = {check.name: check for check in checks}
    assert len(found) == len(checks), [(check.number, check.name, check.summary) for check in checks]
    return found


def not_passed(checks: Sequence[Check]) -> dict[str, str]:
    """Return what each check that did not pass says."""
    return {c.name: f"{c.outcome.value}: {c.summary}" for c in checks if c.outcome is not Outcome.PASS}
