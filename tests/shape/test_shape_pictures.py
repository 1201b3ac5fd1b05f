"""Every picture of the documents is taken by a test that `make screenshots` runs, and is shown on a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PICTURES = sorted(file.stem for file in (ROOT / "docs").glob("*.png"))
TAKES = re.compile(r"""\bpicture\(\s*\w+,\s*["']([\w-]+)["']""")


def taken() -> dict[str, set[str]]:
    """The pictures that each test file takes."""
    files = (ROOT / "tests" / "integration").rglob("test_*.py")
    return {str(file.relative_to(ROOT)): set(TAKES.findall(file.read_text(encoding="utf-8"))) for file in files}


def test_there_are_pictures() -> None:
    assert len(PICTURES) >= 6


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_taken_by_a_test_of_make_screenshots(name: str) -> None:
    takers = [file for file, names in taken().items() if name in names]
    assert len(takers) == 1, f"docs/{name}.png is taken by {takers}"
    (rule,) = re.findall(
        r"^screenshots:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert takers[0] in rule, f"make screenshots does not run {takers[0]}"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_shown(name: str) -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert any(f"{name}.png" in page.read_text(encoding="utf-8") for page in pages)
