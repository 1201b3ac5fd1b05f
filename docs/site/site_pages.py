"""Names the pages of the site, in the order of its menu, and gives their text with links that hold within the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from site_links import Link, anchor_of, anchors_of, links_of

REFERENCE: Final = "connect/REFERENCE.md"
_GUIDES: Final = (
    "quick-start", "jdbc", "change-data-capture", "bigquery", "s3-and-lakes", "cassandra", "backfill",
    "proof-of-concept", "run-a-worker", "operate", "secure", "tune", "write-a-connector",
)  # fmt: skip


@dataclass(frozen=True)
class Page:
    """Tells where a page is in the repository, where in the site, and what its text is."""

    source: str
    target: str
    text: str

    @property
    def title(self) -> str:
        """Return the first heading."""
        return next(line for line in self.text.splitlines() if line.startswith("# ")).removeprefix("# ").strip()


@dataclass(frozen=True)
class Section:
    """Is one entry of the menu with its pages."""

    title: str
    pages: tuple[Page, ...]


def read_sections(root: Path) -> list[Section]:
    """Return the menu. FileNotFoundError: a page that is named here is gone."""

    def page(source: str, target: str) -> Page:
        return Page(source, target, (root / source).read_text(encoding="utf-8"))

    def folder(name: str) -> tuple[Page, ...]:
        found = sorted((root / "docs" / name).glob("*.md"))
        return tuple(page(f"docs/{name}/{file.name}", f"{name}/{file.name}") for file in found)

    guides = [page(f"docs/guides/{name}.md", f"guides/{name}.md") for name in _GUIDES]
    guides.insert(1, page("connect/FROM_JAVA.md", "guides/from-java.md"))
    guides.insert(2, page("docs/public-configurations.md", "guides/public-configurations.md"))
    connectors = ("jdbc", "jdbc/sink", "cassandra", "bigquery", "s3", "http", "redis", "file", "mirror", "samples")
    return [
        Section("Overview", (page("README.md", "index.md"),)),
        Section("Guides", tuple(guides)),
        Section(
            "Connectors",
            (
                *(
                    page(f"connectors/{name}/README.md", f"connectors/{name.replace('/', '-')}.md")
                    for name in connectors
                ),
                page("connect/spark/README.md", "connectors/spark.md"),
            ),
        ),
        Section("Reference", tuple(_reference_pages(page(REFERENCE, "reference/index.md")))),
        Section(
            "Security",
            (page("SECURITY.md", "security.md"), page("docs/reach.md", "reach.md")),
        ),
        Section("Observability", (page("docker/observability/README.md", "observability.md"),)),
        Section("How it works", (page("connect/ARCHITECTURE.md", "architecture.md"), *folder("design"))),
        Section("Decisions", folder("decisions")),
        Section(
            "Contribute",
            (
                page("CONTRIBUTING.md", "contributing.md"),
                page("tests/README.md", "tests.md"),
                page("CHANGELOG.md", "changelog.md"),
                page("docs/README.md", "documents.md"),
            ),
        ),
    ]


def _reference_pages(whole: Page) -> Iterator[Page]:
    """Yield the reference as one page for each of its parts: it has 26,000 words, and a search shall name the part."""
    head, *parts = re.split(r"^(?=## )", whole.text, flags=re.MULTILINE)
    names = [part.partition("\n")[0].removeprefix("## ").strip() for part in parts]
    listed = "".join(f"- [{name}]({posixpath.basename(REFERENCE)}#{anchor_of(name)})\n" for name in names)
    yield Page(whole.source, whole.target, f"{head.rstrip()}\n\n{listed}")
    for name, part in zip(names, parts, strict=True):
        raised = re.sub(r"^#(#+ )", r"\1", part, flags=re.MULTILINE)
        yield Page(f"{REFERENCE}#{anchor_of(name)}", f"reference/{anchor_of(name)}.md", raised)


def targets_of(sections: list[Section]) -> dict[str, str]:
    """Return the place of each page in the site by its file in the repository, of the reference by file#heading."""
    pages = [page for section in sections for page in section.pages]
    inner = {
        f"{REFERENCE}#{anchor}": f"{page.target}#{anchor}"
        for page in pages
        if page.source.startswith(f"{REFERENCE}#")
        for anchor in anchors_of(page.text)
    }
    return inner | {page.source: page.target for page in pages}


def rewrite_links(page: Page, targets: Mapping[str, str], files: set[str]) -> str:
    """Return the page's text with its links to other files made to hold in the site.

    `targets` holds the place of each page by its file in the repository. `files` takes the others that are linked: they
    lie in the site where they lie in the repository. A link to a folder becomes its text, as a site shows none.
    """

    def changed(link: Link) -> str:
        path, _, anchor = link.address.partition("#")
        if link.is_remote or not path:
            return link.markdown
        there = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), path))
        if there not in targets and "." not in posixpath.basename(there) and posixpath.basename(there) != "LICENSE":
            return link.text
        if f"{there}#{anchor}" in targets:
            there, anchor = f"{there}#{anchor}", ""
        if there not in targets:
            files.add(there)
        to = posixpath.relpath(targets.get(there, there), posixpath.dirname(page.target) or ".")
        return link.with_address(f"{to}#{anchor}" if anchor else to)

    return "".join(part if isinstance(part, str) else changed(part) for part in links_of(page.text))
