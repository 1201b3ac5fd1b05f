"""The verdict of a backfill as one HTML file that needs no network; every name in it is escaped."""

from __future__ import annotations

import json
import time
from importlib import resources
from typing import Final

from connect.api.errors import ConfigError
from connect.backfill.verdict import Verdict

_SHOWN: Final = 1000
"""Of millions of chunks; all of them are in the JSON."""


def html_report(verdict: Verdict, made_s: float | None = None) -> str:
    """The file. `made_s`: epoch seconds; None: now. ConfigError: jinja2 is not installed."""
    try:
        from jinja2 import Environment
    except ModuleNotFoundError as error:
        raise ConfigError(
            "The report needs jinja2.", fix="Install it: pip install 'connect-for-kafka[poc]'; or use --json."
        ) from error
    text = resources.files("connect.backfill").joinpath("templates/verdict.html.j2").read_text(encoding="utf-8")
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)
    good = [chunk for chunk in verdict.chunks if chunk.is_good]
    return page.render(
        verdict=verdict,
        made=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(made_s)),
        bad=verdict.bad[:_SHOWN],
        good=good[:_SHOWN],
        left_out=max(0, len(verdict.bad) - _SHOWN) + max(0, len(good) - _SHOWN),
        machine=json.dumps(verdict.as_json(), ensure_ascii=False).replace("<", "\\u003c"),
    )
