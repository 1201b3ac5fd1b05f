"""Shows the demo: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.table import Table

from connect.tools.demo.verify import Comparison
from connect.tools.demo.watch import Reading

PLAIN_INTERVAL_S: Final = 2.0


class Screen:
    """Prints what the demo tells, and decides nothing. It is owned by the demo's main thread."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._start_s = time.monotonic()
        self._next_plain_s = 0.0
        self._before: tuple[float, int] = (self._start_s, 0)

    def say(self, text: str) -> None:
        """Print one line, with the seconds since the start."""
        self._console.print(f"[dim]{time.monotonic() - self._start_s:6.1f} s[/dim]  {text}", highlight=False)

    def watch(self) -> None:
        """Begin the live display."""
        if self._console.is_terminal:
            self._live = Live(console=self._console, refresh_per_second=5, transient=True)
            self._live.start()

    def show(self, readings: Mapping[str, Reading], wanted: Mapping[str, int]) -> None:
        """Show the state of every table now."""
        now_s = time.monotonic()
        if self._live is not None:
            self._live.update(self._progress(readings, wanted, now_s))
        elif now_s >= self._next_plain_s:
            self._next_plain_s = now_s + PLAIN_INTERVAL_S
            rows = sum(r.s3_rows for r in readings.values())
            self.say(
                f"in Kafka {sum(r.topic_records for r in readings.values()):,}, in S3 {rows:,} of "
                f"{sum(wanted.values()):,} rows, {self._rate(rows, now_s):,.0f} rows/s, "
                f"{sum(r.s3_bytes for r in readings.values()) / 1e6:.1f} MB"
            )

    def end_watch(self) -> None:
        """End the live display. It is called however the demo ends."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def result(self, comparisons: Sequence[Comparison]) -> None:
        """Print the verdict per table, and the first rows of the first table."""
        table = Table(title="Source and target, compared row by row", title_justify="left")
        for name in (
            "table",
            "rows in SQLite",
            "rows in target",
            "lost",
            "duplicate",
            "NULLs",
            "hash of all rows",
            "equal",
        ):
            table.add_column(name, justify="left" if name in {"table", "hash of all rows"} else "right")
        for c in comparisons:
            verdict = "[green]yes[/green]" if c.equal else "[red]NO[/red]"
            counts = (c.source_rows, c.target_rows, c.lost_rows, c.duplicate_rows, c.nulls)
            table.add_row(c.table, *(f"{n:,}" for n in counts), c.target_hash, verdict)
        self._console.print(table)
        for c in comparisons:
            for difference in c.differences:
                self._console.print(f"[red]{c.table}: {difference}[/red]", highlight=False)
        head = comparisons[0].head
        all_names = head.column_names
        names = [*all_names[:1], *all_names[4:8], *all_names[10:15], *all_names[-1:]]
        first = Table(*names, title=f"First rows of {comparisons[0].table}, as Parquet in S3", title_justify="left")
        for row in zip(*(column.to_pylist() for column in head.select(names).columns), strict=True):
            first.add_row(*(str(value) for value in row))
        self._console.print(first)

    def next_steps(self, rest_url: str, connector: Mapping[str, object]) -> None:
        """Print addresses and lines to paste."""
        name = connector["name"]
        self._console.print(
            f"\nPages    {rest_url}/ui\nREST     {rest_url}\nMetrics  {rest_url}/metrics\n\nTry next:", highlight=False
        )
        wrong = json.dumps({"connector.class": "JdbcSourceConnector", "mode": "sometimes"})
        validate = f"{rest_url}/connector-plugins/JdbcSourceConnector/config/validate"
        lines = (
            f"curl -s '{rest_url}/connectors?expand=status&expand=info'",
            f"curl -s {rest_url}/connectors/{name}/status",
            f"curl -s -X PUT {rest_url}/connectors/{name}/pause",
            f"curl -s -X PUT {rest_url}/connectors/{name}/resume",
            f"curl -s {rest_url}/connector-plugins",
            f"curl -s -X PUT -H 'Content-Type: application/json' {validate} -d '{wrong}'",
        )
        for line in lines:
            self._console.print(f"  {line}", highlight=False, soft_wrap=True)

    def _progress(self, readings: Mapping[str, Reading], wanted: Mapping[str, int], now_s: float) -> Table:
        table = Table(title=f"{now_s - self._start_s:.0f} s", title_justify="left")
        for name in ("table", "rows", "in Kafka", "in S3", "lag", "MB"):
            table.add_column(name, justify="left" if name == "table" else "right")
        for name, r in readings.items():
            lag = max(0, wanted[name] - r.s3_rows)
            figures = (
                f"{wanted[name]:,}",
                f"{r.topic_records:,}",
                f"{r.s3_rows:,}",
                f"{lag:,}",
                f"{r.s3_bytes / 1e6:.1f}",
            )
            table.add_row(name, *figures)
        rows = sum(r.s3_rows for r in readings.values())
        table.caption = f"{self._rate(rows, now_s):,.0f} rows/s into S3"
        return table

    def _rate(self, rows: int, now_s: float) -> float:
        before_s, before = self._before
        if now_s - before_s < 1.0:
            return (rows - before) / max(now_s - before_s, 0.1)
        self._before = (now_s, rows)
        return (rows - before) / (now_s - before_s)
