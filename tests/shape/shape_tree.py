"""The source tree as the shape tests see it."""

from __future__ import annotations

import ast
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
    """The parsed module."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=named(path))


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Every function of a module as `file:line name`, with its length in lines, decorators and docstring included."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            assert node.end_lineno is not None
            yield f"{named(path)}:{node.lineno} {node.name}", node.end_lineno - first + 1


def calls(path: Path, owner: str, attribute: str) -> Iterator[str]:
    """Every call of `owner.attribute(...)`, or of `attribute(...)` imported from `owner`, as `file:line`."""
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and node.module == owner
        for alias in node.names
        if alias.name == attribute
    }
    for node in ast.walk(tree(path)):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if (name, attr) == (owner, attribute):
                yield f"{named(path)}:{node.lineno}"
            case ast.Call(func=ast.Name(id=name)) if name in imported:
                yield f"{named(path)}:{node.lineno}"
