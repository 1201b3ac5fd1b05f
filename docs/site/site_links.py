"""Finds the links of a Markdown text. A fenced block has none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINK = re.compile(r"(!?)\[([^\]\n]*(?:\n[^\]\n]+)?)\]\(([^()\s]+)\)")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Link:
    """Is one link, or a picture."""

    mark: str
    text: str
    address: str

    @property
    def is_remote(self) -> bool:
        """Return True if it leads out of the repository."""
        return "://" in self.address or self.address.startswith("mailto:")

    @property
    def markdown(self) -> str:
        """Return the link as it is written."""
        return f"{self.mark}[{self.text}]({self.address})"

    def with_address(self, address: str) -> str:
        """Return the link to another address."""
        return f"{self.mark}[{self.text}]({address})"


def links_of(text: str) -> Iterator[str | Link]:
    """Yield the text in parts, in order: what stands between links, and links."""
    for part in _FENCED.split(text):
        if part.startswith("```"):
            yield part
            continue
        end = 0
        for found in _LINK.finditer(part):
            yield part[end : found.start()]
            yield Link(*found.groups())
            end = found.end()
        yield part[end:]


def anchor_of(heading: str) -> str:
    """Return the anchor that GitHub gives a heading, without the number of a second one of the same text."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors_of(text: str) -> set[str]:
    """Return the anchors of a page's headings."""
    outside = "".join(part for part in _FENCED.split(text) if not part.startswith("```"))
    found: dict[str, int] = {}
    anchors = set()
    for heading in re.findall(r"^#+ +(.*)$", outside, re.MULTILINE):
        anchor = anchor_of(heading)
        anchors.add(f"{anchor}-{found[anchor]}" if anchor in found else anchor)
        found[anchor] = found.get(anchor, 0) + 1
    return anchors
