"""A test that replaces a part of the product by its dotted name finds that part.

The tests with services run long after a part has moved, so this test reads their names and looks them up.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pkgutil import resolve_name

import pytest
from shape_tree import modules, tree

PATCHES = ("setattr", "delattr")
PRODUCT = ("connect.", "connectors.")


def patched_names() -> Iterator[str]:
    """Yield the dotted names that the tests hand to `monkeypatch.setattr` and `delattr`."""
    for path in modules("tests"):
        for node in ast.walk(tree(path)):
            match node:
                case ast.Call(func=ast.Attribute(attr=method), args=[ast.Constant(value=str(name)), *_]):
                    if method in PATCHES and name.startswith(PRODUCT):
                        yield name


@pytest.mark.parametrize("name", sorted(set(patched_names())))
def test_a_patched_name_is_in_the_product(name: str) -> None:
    assert resolve_name(name) is not None
