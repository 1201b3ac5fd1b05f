"""Shows the source tree as the shape tests see it."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


def modules(*folders: str) -> list[Path]:
    """Every module below these folders of the repository."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def named(path: Path) -> str:
    """The path as it is shown and listed: from the repository's root."""
    return path.relative_to(ROOT).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    """Parse a module once; its nodes are not searched for garbage meanwhile, which would take longer than parsing."""
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        gc.freeze()
        gc.enable()


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Every function of a module as `file:line name`, with its length in lines, decorators and docstring included."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            assert node.end_lineno is not None
            yield f"{named(path)}:{node.lineno} {node.name}", node.end_lineno - first + 1
