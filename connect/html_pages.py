"""Reports as one HTML file that needs no network: templates whose every value is escaped."""

from __future__ import annotations

import json
import time
from importlib import resources
from typing import TYPE_CHECKING

from connect.api.errors import ConfigError

if TYPE_CHECKING:
    from jinja2 import Template


def template_of(package: str, file: str) -> Template:
    """A template of a package's folder `templates`. ConfigError: jinja2 is not installed."""
    try:
        from jinja2 import Environment
    except ModuleNotFoundError as error:
        raise ConfigError(
            "The report needs jinja2.", fix="Install it: pip install 'connect-for-kafka[poc]'; or use --json."
        ) from error
    text = resources.files(package).joinpath("templates", file).read_text(encoding="utf-8")
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)


def embedded_json(value: object) -> str:
    """JSON that may stand inside a script element, whatever its texts are."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def utc_minute(epoch_s: float | None) -> str:
    """Such as `2026-01-31 09:30 UTC`; None: now."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(epoch_s))
