"""Reads a worker's web UI like a browser without JavaScript: its pages, their forms, and the texts that they show."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

import requests

ANSWER_S = 120
"""This is longer than a worker takes for any request (rest.request.timeout.ms), so that it can say itself what was
slow.
"""
_VOID = {"meta", "link", "input", "img", "br", "hr", "polyline", "path", "rect"}


class Page(HTMLParser):
    """Holds a page as a reader without JavaScript sees it."""

    def __init__(self, answer: requests.Response) -> None:
        super().__init__()
        self.status = answer.status_code
        self.url = answer.url
        self.headers = answer.headers
        self.html = answer.text
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.fields: dict[str, dict[str, str]] = {}
        """The fields of each form by the form's id, or its action."""
        self.areas: dict[str, str] = {}
        """The texts of larger fields, by name."""
        self._area = ""
        self._form = ""
        self._open: list[str] = []
        self.feed(answer.text.replace("<wbr>", ""))  # `<wbr>` marks where a word may be broken; readers do not see it
        self.close()
        self.unclosed = list(self._open)

    @property
    def text(self) -> str:
        """Return all texts of the page in one line."""
        return " ".join(" ".join(self.texts).split())

    def links(self) -> list[str]:
        """Return the addresses of its links."""
        return [values["href"] for tag, values in self.elements if tag == "a" and "href" in values]

    def buttons(self) -> list[str]:
        """Return the values of its buttons."""
        return [values["value"] for tag, values in self.elements if tag == "button" and "value" in values]

    def form_url(self, form: str) -> str:
        """Return the address to which a form is sent."""
        found = next(v for tag, v in self.elements if tag == "form" and form in {v.get("id"), v.get("action")})
        return urljoin(self.url, found["action"])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.elements.append((tag, values))
        if tag not in _VOID:
            self._open.append(tag)
        if tag == "form":
            self._form = values.get("id") or values["action"]
            self.fields[self._form] = {}
        if tag == "textarea":
            self._area = values["name"]
            self.areas[self._area] = ""
        if tag == "input" and "name" in values:
            self.fields.setdefault(values.get("form", self._form), {})[values["name"]] = values.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._area:
            self.areas[self._area] += data


class Reader:
    """Stands for a person who reads pages and presses buttons, and sends what a browser sends."""

    def __init__(self, url: str, **headers: str) -> None:
        self.url = url
        self.session = requests.Session()
        self.session.headers.update(
            {
                "Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Language": "en-GB",
                "Upgrade-Insecure-Requests": "1", **headers,
            }
        )  # fmt: skip

    def open(self, path: str, **more: Any) -> Page:
        return Page(self.session.get(urljoin(self.url, path), timeout=ANSWER_S, **more))

    def press(self, page: Page, do: str, form: str = "act", **over: str) -> Page:
        """Press a button, and return the page that follows."""
        fields = page.fields[form] | {"do": do} | over
        headers = {"Origin": self.url, "Referer": page.url}
        return Page(self.session.post(page.form_url(form), data=fields, headers=headers, timeout=ANSWER_S))
