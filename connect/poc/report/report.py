"""Writes the report: one HTML file that needs no network and holds the result as JSON, too."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from connect.poc.report.charts import drawing_of
from connect.poc.report.finished import finished_files
from connect.poc.sandbox.result import Check, Result
from connect.telemetry.html_pages import embedded_json, template_of, utc_minute

if TYPE_CHECKING:
    from jinja2 import Template

SIZE_MAX: Final = 1_000_000
"""A report has at most this many bytes; tables and texts are shortened until it fits."""
TEXT_MAX: Final = 500
COLUMNS_MAX: Final = 12
CUT: Final = " (shortened)"
_CUTS_MAX: Final = 24
_MARKS = {"pass": "✓", "warn": "!", "fail": "✗", "not tested": "–"}


def html_report(result: Result) -> str:
    """Return the report as one self-contained file. Every value of the user's is escaped."""
    template = template_of("connect.poc", "report.html.j2")
    shown = _rendered(template, result)
    for _ in range(_CUTS_MAX):
        if len(shown.encode("utf-8", "replace")) <= SIZE_MAX:
            break
        result = _shorter(result)
        shown = _rendered(template, result)
    return shown


def _rendered(template: Template, result: Result) -> str:
    return template.render(
        result=result,
        verdict=result.verdict.value,
        marks=_MARKS,
        started=utc_minute(result.started_s),
        files=finished_files(result),
        drawing_of=drawing_of,
        machine=embedded_json(result.as_json()),
    )


def _shorter(result: Result) -> Result:
    configs = {name: {key: _cut(value) for key, value in config.items()} for name, config in result.configs.items()}
    return replace(result, configs=configs, checks=[_shorter_check(check) for check in result.checks])


def _shorter_check(check: Check) -> Check:
    """Return the check with half the rows of each table, a dozen columns at most, and long texts cut."""
    tables = [
        replace(
            table,
            title=table.title if table.title.endswith(CUT) else table.title + CUT,
            columns=table.columns[:COLUMNS_MAX],
            rows=[
                tuple(_cut(cell) for cell in row[:COLUMNS_MAX]) for row in table.rows[: max(1, len(table.rows) // 2)]
            ],
        )
        for table in check.tables
    ]
    return replace(check, summary=_cut(check.summary), tables=tables, charts=check.charts[:2])


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"
