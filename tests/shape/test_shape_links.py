"""Links of the documents lead somewhere, and what a block of code shows is run, or says why not."""

from __future__ import annotations

import posixpath
import re
import subprocess
from pathlib import Path

import pytest
from site_links import Link, anchors_of, links_of

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^(<!-- (?P<why>[^\n]*) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
GUIDES = sorted((ROOT / "docs/guides").glob("*.md"))
PICTURE = re.compile(r'\bpicture\(\s*\w+,\s*"([a-z-]+)"')
MODULE = re.compile(r"`([\w/]+\.py)`")
TOPS = ("connect", "connectors", "tests")
RUN_BY_GUIDES = {"sh", "text"}


def documents() -> list[str]:
    """Return the Markdown files of the product, as git has them or would take them."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    return [name for name in listed.splitlines() if not name.startswith(("tests/conformance", "tests/fixtures"))]


def broken_links(name: str, text: str) -> list[str]:
    found = []
    for link in (part for part in links_of(text) if isinstance(part, Link) and not part.is_remote):
        path, _, anchor = link.address.partition("#")
        there = ROOT / posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else ROOT / name
        if not there.exists():
            found.append(f"{name}: {link.address}: there is no such file")
        elif anchor and there.suffix == ".md" and anchor not in anchors_of(there.read_text(encoding="utf-8")):
            found.append(f"{name}: {link.address}: there is no such heading")
    return found


def test_each_link_leads_somewhere():
    found = [line for name in documents() for line in broken_links(name, (ROOT / name).read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("address", ["nowhere.md", "../README.md#no-such-heading", "#no-such-heading"])
def test_a_link_to_nowhere_is_found(address):
    assert len(broken_links("docs/README.md", f"a [link]({address}) of\n```\n[a](block.md)\n```\n")) == 1


def missing_modules(name: str, text: str) -> list[str]:
    """Return what a document names as a module, by `folder/file.py` or `file.py`, and no folder has."""
    ends = {f"/{path.relative_to(ROOT).as_posix()}" for top in TOPS for path in (ROOT / top).rglob("*.py")}
    named = dict.fromkeys(MODULE.findall(text))
    return [f"{name}: {module}" for module in named if not any(end.endswith(f"/{module}") for end in ends)]


def test_each_module_that_a_document_of_the_code_names_is_there():
    pages = [name for name in documents() if name.startswith(("connect/ARCHITECTURE", "docs/design", "docs/decisions"))]
    assert len(pages) > 30
    found = [line for name in pages for line in missing_modules(name, (ROOT / name).read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_a_module_that_was_moved_is_found():
    assert missing_modules("page.md", "`log/folder.py`, `api/records.py`") == ["page.md: log/folder.py"]


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_blocks_of_a_guide_are_run_or_say_why_not(guide):
    blocks = list(BLOCK.finditer(guide.read_text(encoding="utf-8")))
    assert blocks
    for block in blocks:
        why = block["why"] or ""
        assert block["language"] in RUN_BY_GUIDES or re.match("not run: .{10}", why), block[0]


def test_each_picture_of_the_documents_is_made_by_a_test():
    pictures = {file.stem for file in (ROOT / "docs").rglob("*.png")}
    shown = {
        Path(link.address).stem
        for name in documents()
        for link in links_of((ROOT / name).read_text(encoding="utf-8"))
        if isinstance(link, Link) and link.address.endswith(".png")
    }
    made = {
        name for file in (ROOT / "tests/integration").rglob("test_*.py") for name in PICTURE.findall(file.read_text())
    }
    assert pictures == shown == made
    assert all(file.stat().st_size < 120_000 for file in (ROOT / "docs").rglob("*.png"))
