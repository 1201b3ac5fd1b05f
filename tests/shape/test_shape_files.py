"""Checks that files and functions stay small enough to read, say what they are for, and leave nothing for later."""

from __future__ import annotations

import re

import pytest
from shape_tree import ROOT, functions, modules, named

FILE_LINES = 400
TEST_LINES = 500
FUNCTION_LINES = 60
PRODUCT = modules("connect", "connectors")
BLACK_BOX = ROOT / "tests/conformance"
"""Kept as it was seen to pass on Java's Kafka Connect."""
TESTS = [path for path in modules("tests") if BLACK_BOX not in path.parents]
DOCSTRING = re.compile(r'(#.*\n)*r?"""')
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def test_there_is_a_product_to_look_at() -> None:
    assert len(PRODUCT) > 50


@pytest.mark.parametrize(("paths", "most"), [(PRODUCT, FILE_LINES), (TESTS, TEST_LINES)], ids=["product", "tests"])
def test_files_are_short(paths: list, most: int) -> None:
    sizes = {named(path): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    assert {name: size for name, size in sizes.items() if size > most} == {}


def test_functions_are_short() -> None:
    long = {name: lines for path in PRODUCT for name, lines in functions(path) if lines > FUNCTION_LINES}
    assert long == {}


def test_every_module_says_what_it_is_for() -> None:
    texts = {named(path): path.read_text(encoding="utf-8") for path in PRODUCT}
    silent = [name for name, text in texts.items() if text and not DOCSTRING.match(text)]
    assert silent == []


def test_nothing_is_left_for_later() -> None:
    this = named(ROOT / "tests/shape/test_shape_files.py")
    left = [
        f"{named(path)}:{number}"
        for path in [*PRODUCT, *TESTS]
        if named(path) != this
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if UNFINISHED.search(line)
    ]
    assert left == []


def test_test_files_have_names_of_their_own() -> None:
    names = [path.name for path in TESTS if path.name != "conftest.py"]
    assert sorted({name for name in names if names.count(name) > 1 and name != "__init__.py"}) == []


def test_the_walks_and_invariants_name_files_that_are_there() -> None:
    map_of_code = (ROOT / "connect/ARCHITECTURE.md").read_text(encoding="utf-8")
    told = map_of_code.partition("## Four walks")[2].partition("## Where do I add X?")[0]
    names = set(re.findall(r"`([\w/]+\.py)`", told))
    there = [f"/{named(path)}" for path in PRODUCT + TESTS]
    assert len(names) > 40
    assert sorted(name for name in names if not any(path.endswith(f"/{name}") for path in there)) == []
