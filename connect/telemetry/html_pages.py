"""Renders reports as single HTML files that need no network, from templates that escape every value."""

from __future__ import annotations

import json
import re
import time
from importlib import resources
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_ORDER_MARKS: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Matches invisible characters that reverse the direction of the text behind them."""


def template_of(package: str, file: str) -> Template:
    """Return a template of a package's folder `templates`."""
    return templates_of(package).get_template(file)


def templates_of(package: str) -> Environment:
    """Return the templates of a package's folder `templates`, which may include each other."""
    from jinja2 import Environment, FunctionLoader

    folder = resources.files(package).joinpath("templates")
    return Environment(
        loader=FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf-8")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )


def _visible(value: object) -> object:
    """Return a text with marks of text direction as JSON writes them; what a template has declared safe is left."""
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return value
    return _ORDER_MARKS.sub(lambda mark: f"\\u{ord(mark[0]):04x}", value)


def embedded_json(value: object) -> str:
    """Return JSON that may stand inside a script element, whatever its texts are."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def utc_minute(epoch_s: float | None) -> str:
    """Return a time such as `2026-01-31 09:30 UTC`; None stands for now."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(epoch_s))
