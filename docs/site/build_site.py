"""Build the site of the documents into build/docs/site: `python docs/site/build_site.py`.

The pages are the Markdown files of the repository, each where its readers look for it; the site brings them together
with a menu and a search. It needs no network, neither to be built nor to be read.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from site_pages import read_sections, rewrite_links, targets_of

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build/docs"


def write_pages() -> None:
    """Write what Zensical reads: the pages, the files that they link to, and its settings with the menu."""
    shutil.rmtree(BUILT, ignore_errors=True)
    sections = read_sections(ROOT)
    targets = targets_of(sections)
    files: set[str] = set()
    for page in (page for section in sections for page in section.pages):
        file = BUILT / "pages" / page.target
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(rewrite_links(page, targets, files), encoding="utf-8")
    for name in files:
        file = BUILT / "pages" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, file)
    menu = [{section.title: [{page.title: page.target} for page in section.pages]} for section in sections]
    look = Path(__file__).with_name("zensical.toml").read_text(encoding="utf-8")
    listed = ", ".join(_inline(entry) for entry in menu)
    (BUILT / "zensical.toml").write_text(look.replace("[project]\n", f"[project]\nnav = [{listed}]\n", 1), "utf-8")


def _inline(entry: dict[str, list[dict[str, str]]]) -> str:
    """Return an entry of the menu as TOML writes it in one line; its texts are quoted as JSON quotes them."""
    (title, pages), *_ = entry.items()
    inner = ", ".join(f"{{ {json.dumps(name)} = {json.dumps(file)} }}" for page in pages for name, file in page.items())
    return f"{{ {json.dumps(title)} = [{inner}] }}"


def main() -> int:
    """Return 0 once the site stands, and Zensical's exit code where it names a fault."""
    write_pages()
    built = subprocess.run(
        [Path(sys.executable).with_name("zensical"), "build", "--strict", "--clean"], cwd=BUILT, check=False
    )
    if built.returncode == 0:
        print(f"The documents begin at {BUILT}/site/index.html; to search them: python -m http.server -d {BUILT}/site")
    return built.returncode


if __name__ == "__main__":
    sys.exit(main())
