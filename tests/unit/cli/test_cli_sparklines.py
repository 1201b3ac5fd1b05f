"""Checks what `connect top` and `connect backfill status` draw of figures that change."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from connect.backfill.job.progress import JobProgress
from connect.cli.shared import backfill_screen
from connect.cli.shared.sparkline import POINTS, History, sparkline
from connect.cli.top import show, top
from connect.client.task_lines import Scrape, TaskLine

pytestmark = pytest.mark.quick

BLOCKS = frozenset("▁▂▃▄▅▆▇█")


@pytest.mark.parametrize(
    ("figures", "drawn", "plain"),
    [
        ((0, 1, 50, 100), "▁▂▅█", "_.+#"),
        ((None, 5, None, 5), " █ █", " # #"),
        ((0, 0), "▁▁", "__"),
        ((-3, 7), "▁█", "_#"),
        ((3, None), "█", "#"),
        ((None,), "", ""),
        ((), "", ""),
    ],
)
def test_each_figure_is_a_part_of_the_largest(figures: tuple[float | None, ...], drawn: str, plain: str) -> None:
    assert sparkline(figures, "utf-8") == drawn
    assert {sparkline(figures, encoding) for encoding in ("ascii", "latin-1", "no-such-encoding")} == {plain}


def test_a_history_keeps_the_last_figures_of_what_is_still_there() -> None:
    kept = History()
    for number in range(POINTS + 5):
        kept.add({"a": number, "gone": 1.0} if number < 3 else {"a": number})
    assert kept.line("a", "utf-8") == sparkline(range(5, POINTS + 5), "utf-8")
    assert kept.line("gone", "utf-8") == ""


@pytest.fixture
def moving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker whose one task writes 0, 50 and 100 rows between looks; then Ctrl-C."""
    connectors = {"a": {"status": {"connector": {"state": "RUNNING"}, "tasks": [{"id": 0, "state": "RUNNING"}]}}}
    told = iter([0.0, 0.0, 50.0, 150.0])

    def scraped(_: Any) -> Scrape:
        rows = next(told, None)
        if rows is None:
            raise KeyboardInterrupt
        scraped.at_s += 1  # type: ignore[attr-defined]
        return Scrape(scraped.at_s, {("a", "0"): {"rows_total": rows}})  # type: ignore[attr-defined]

    scraped.at_s = 0.0  # type: ignore[attr-defined]
    monkeypatch.setattr("connect.cli.top.scrapes.scraped", scraped)
    monkeypatch.setattr("connect.client.rest.ConnectClient.connectors", lambda _: connectors)


def _top(columns: int, *options: str, charset: str = "utf-8") -> str:
    runner = CliRunner(charset=charset)
    env = {"COLUMNS": str(columns), "NO_COLOR": "1", "CONNECT_URL": "http://127.0.0.1:1"}
    return runner.invoke(top, ["--interval", "0.2", *options], env=env).stdout


def test_top_draws_the_last_rates_of_a_task(moving: None) -> None:
    shown = _top(200)
    assert shown.split("\n")[0].split()[:5] == ["CONNECTOR", "TASK", "STATE", "ROWS/S", "TREND"]
    rows = [line.split() for line in shown.splitlines() if line.startswith("a ")]
    assert [(row[3], row[4]) for row in rows] == [("0", "▁"), ("50", "▁█"), ("100", "▁▅█")]
    assert "\x1b[" not in shown


def test_top_draws_nothing_where_there_is_no_room_or_one_look(moving: None) -> None:
    assert "TREND" not in _top(80)


@pytest.mark.parametrize("once", [True, False])
def test_a_narrow_terminal_shows_whole_words_and_reasons_below(once: bool, capsys: pytest.CaptureFixture[str]) -> None:
    figures = (1.0, 12_345_678.0, 120.5, 3.0, 2.0**27)
    line = TaskLine("orders", "0", "sink", "RUNNING", "127.0.0.1:8083", *figures, reason="It waits for rows.")
    still = replace(line, connector="still", reason="")
    show([line, still], None if once else History(), 80, is_terminal=True)
    heads, *rows, told = capsys.readouterr().out.splitlines()
    assert heads.split() == ["CONNECTOR", "TASK", "STATE", "ROWS/S", "LAG", "BEHIND"]
    assert [row.split() for row in rows] == [
        [name, "0", "RUNNING", "1", "12,345,678", "120.5", "s"] for name in ("orders", "still")
    ]
    assert told == "orders, task 0: It waits for rows."


def test_one_look_has_no_trend(moving: None) -> None:
    assert "TREND" not in _top(200, "--once")


def test_top_draws_ascii_on_a_terminal_without_unicode(moving: None) -> None:
    shown = _top(200, charset="ascii")
    assert [line.split()[4] for line in shown.splitlines() if line.startswith("a ")] == ["_", "_#", "_+#"]
    assert shown.isascii()


def _job() -> Iterator[JobProgress]:
    for rate in (10.0, 20.0, 40.0):
        yield JobProgress(chunks=4, chunks_done=1, rows_per_second=rate)


@pytest.mark.parametrize(
    ("width", "encoding", "drawn"), [(140, "utf-8", "▃▅█"), (140, "ascii", "-+#"), (60, "utf-8", None)]
)
def test_a_backfill_draws_its_rates_where_there_is_room(width: int, encoding: str, drawn: str | None) -> None:
    written = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=written, width=width, force_terminal=True, no_color=True)
    backfill_screen._bar(_job(), console)
    written.seek(0)
    shown = written.read()
    assert "25%" in shown
    if drawn is None:
        assert not BLOCKS & set(shown)
    else:
        assert drawn in shown
