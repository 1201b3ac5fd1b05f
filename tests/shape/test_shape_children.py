"""One place starts Python processes, so that none of them searches the folder it works in."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from shape_tree import ROOT, modules, named, tree

PLACE = ROOT / "connect/lib/python_child.py"
GUARD = ROOT / "connect/tools/services/process/guard.py"
"""Runs on its own, with the standard library alone; it starts what it is told to."""
SERVICES = "connect/tools/services/"
"""Services run programs that are no Python: databases, Java. They are for demo and tests."""
STARTERS = {"Popen", "run", "call", "check_call", "check_output", "get_context", "Process", "system", "execv", "execve"}


def starts(path: Path) -> set[str]:
    """What a module has that starts processes on its own."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Attribute) and node.attr == "executable" and ast.unparse(node) == "sys.executable":
            found.add("sys.executable")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STARTERS:
            owner = ast.unparse(node.func.value)
            if owner in {"subprocess", "multiprocessing", "os"}:
                found.add(node.func.attr)
        if isinstance(node, ast.Constant) and node.value == "-m":
            found.add("-m")
    return found


@pytest.mark.parametrize("folder", ["connect", "connectors"])
def test_no_other_place_starts_processes(folder: str) -> None:
    found = {named(path): starts(path) for path in modules(folder) if path not in {PLACE, GUARD}}
    foreign = {name: what - ({"run"} if name.startswith(SERVICES) else set()) for name, what in found.items()}
    assert {name: what for name, what in foreign.items() if what} == {}


def test_the_place_is_seen_by_what_looks_for_others() -> None:
    assert starts(PLACE) == {"sys.executable", "Popen", "get_context", "-m"}
