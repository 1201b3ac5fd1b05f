"""Checks that durations are measured by a clock that only goes on, as the clock of day may be set at any moment."""

from __future__ import annotations

import ast
from pathlib import Path

import connect.cluster

FOLDER = Path(connect.cluster.__file__).parent
OF_DAY = {
    "herder/reconcile.py _lead": "the age of the session key, which Java's workers read too",
    "herder/worker_state.py __init__": "when the worker began, as a metric",
    "leader/group_membership.py __init__": "which of two workers with one address stays; one does in any case",
    "leader/overdue_tasks.py reconcile": "since when a task is overdue, as people read it; how long is measured beside",
    "loop/event_loop.py _now_ms": "since when the herder does what it does, as people read it",
    "store/kafka_claims.py now_ms": "the age of another cluster's claim, by the time of its record",
    "store/config_store.py put_connector": "when a configuration was written, in the history",
    "store/status_store.py _now_ms": "when a state changed, in the history",
}
"""Where the clock of day is asked, and what for."""


def asks_for_day(node: ast.AST) -> bool:
    named = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "time"
    return named and node.attr in {"time", "time_ns"}


def places() -> set[str]:
    found = set()
    for file in sorted(FOLDER.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        inside = {id(n): function.name for function in functions for n in ast.walk(function)}
        found |= {
            f"{file.relative_to(FOLDER)} {inside.get(id(node), '')}".strip()
            for node in ast.walk(tree)
            if asks_for_day(node)
        }
    return found


def test_coordination_measures_no_time_by_the_clock_of_day():
    assert places() == set(OF_DAY)
