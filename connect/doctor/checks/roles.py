"""Judges if the roles in the worker's file fit connectors."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from connect.doctor.model.facts import Facts
from connect.doctor.model.findings import Finding, Severity
from connect.runtime.settings.role_grants import ALL, Grant
from connect.runtime.settings.worker_config import WorkerConfig

_NAMES_SHOWN: Final = 5


class Roles:
    """Judges roles that are given for connectors of some names."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield roles whose pattern fits no connector; nothing where not all connectors are known."""
        if not facts.all_names:
            return
        for key, text in _given(facts.worker):
            grant = Grant.parse(text)
            if grant.pattern == ALL or any(fnmatchcase(name, grant.pattern) for name in facts.all_names):
                continue
            near = [name for name in sorted(facts.all_names) if fnmatchcase(name.lower(), grant.pattern.lower())]
            why = f"Until one fits, {grant.who} may do nothing by it."
            if near:
                why += f" Capitals count: in other letters it fits {', '.join(near[:_NAMES_SHOWN])}."
            yield Finding(
                "role-fits-nothing", Severity.NOTE, f"worker file, {key}",
                f"{text}: no connector has a name that fits {grant.pattern}.", why,
                f"{key}={grant.who} on {near[0] if near else min(facts.all_names)}",
            )  # fmt: skip


def _given(worker: WorkerConfig) -> Iterable[tuple[str, str]]:
    roles = {
        "viewer": worker.rest_roles_viewer, "operator": worker.rest_roles_operator,
        "editor": worker.rest_roles_editor, "admin": worker.rest_roles_admin,
    }  # fmt: skip
    return ((f"rest.roles.{role}", text) for role, texts in roles.items() for text in texts)
