"""The report: one HTML file that needs no network, and the same as JSON."""

from __future__ import annotations

import json
import time
from importlib import resources

from connect.api.errors import ConfigError
from connect.evaluate.result import Result

_MARKS = {"pass": "✓", "warn": "!", "fail": "✗", "not tested": "–"}


def html_report(result: Result) -> str:
    """One self-contained file. Every value of the user's is escaped. ConfigError: jinja2 is not installed."""
    try:
        from jinja2 import Environment
    except ModuleNotFoundError as error:
        raise ConfigError(
            "The report needs jinja2.", fix="Install it: pip install 'connect-for-kafka[poc]'."
        ) from error
    text = resources.files("connect.evaluate").joinpath("templates/report.html.j2").read_text(encoding="utf-8")
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)
    return page.render(
        result=result,
        verdict=result.verdict.value,
        marks=_MARKS,
        started=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(result.started_s)),
        files={
            name: json.dumps({"name": name, "config": dict(config)}, indent=2, ensure_ascii=False)
            for name, config in result.configs.items()
        },
        machine=json.dumps(result.as_json(), ensure_ascii=False).replace("<", "\\u003c"),
    )
