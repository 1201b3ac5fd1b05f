"""Makes one HTML file of a backfill's verdict, which needs no network; every name in it is escaped."""

from __future__ import annotations

from typing import Final

from connect.backfill.verify.verdict import Verdict
from connect.telemetry.html_pages import embedded_json, template_of, utc_minute

_SHOWN: Final = 1000
"""The file shows no more chunks than this, as there may be millions; all of them are in the JSON."""


def html_report(verdict: Verdict, made_s: float | None = None) -> str:
    """Return the text of the HTML file. `made_s` is its time in seconds since 1970; None: now."""
    good = [chunk for chunk in verdict.chunks if chunk.is_good]
    return template_of("connect.backfill", "verdict.html.j2").render(
        verdict=verdict,
        made=utc_minute(made_s),
        bad=verdict.bad[:_SHOWN],
        good=good[:_SHOWN],
        left_out=max(0, len(verdict.bad) - _SHOWN) + max(0, len(good) - _SHOWN),
        machine=embedded_json(verdict.as_json()),
    )
