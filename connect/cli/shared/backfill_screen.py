"""Shows how far a job of `connect backfill` is: a bar on a terminal, a line when something changed elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from connect.cli.shared.sparkline import LEAST_COLUMNS, History
from connect.cli.shared.terminal import echo

if TYPE_CHECKING:
    from rich.console import Console

    from connect.backfill.job.job_store import JobStore
    from connect.backfill.job.progress import JobProgress

_SHOW_S = 1.0
_READ_S = 60.0


@contextmanager
def shown_beside(store: JobStore, job: str) -> Iterator[None]:
    """Show the job's progress on a thread of its own as long as the block runs."""
    ended = threading.Event()
    thread = threading.Thread(target=show, args=(store, job, ended), name="backfill-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def show(store: JobStore, job: str, ended: threading.Event | None = None) -> None:
    """Show the job's progress until `ended` is set; without one until the job runs no longer."""
    from rich.console import Console

    from connect.backfill.job.progress import Watch
    from connect.lib.deadline import Deadline

    console = Console()
    with closing(Watch(store, job, Deadline.after(_READ_S))) as watch:
        if console.is_terminal:
            _bar(_ticks(watch.progress, ended), console)
        else:
            _lines(_ticks(watch.progress, ended))


def _ticks(progress: Callable[[], JobProgress], ended: threading.Event | None) -> Iterator[JobProgress]:
    while True:
        is_last = (ended or threading.Event()).wait(_SHOW_S)
        now = progress()
        yield now
        if is_last or (ended is None and now.is_over):
            return


def _bar(ticks: Iterator[JobProgress], console: Console) -> None:
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    # All of it is seen on a narrow terminal, too.
    told = TextColumn("{task.description}", table_column=Column(ratio=1, overflow="fold", no_wrap=False))
    rates, wide = History(), console.width >= LEAST_COLUMNS
    trend = [TextColumn("{task.fields[trend]}", markup=False)] if wide else []
    with Bar(BarColumn(bar_width=20), *trend, told, expand=True, console=console) as bar:
        shown = bar.add_task("", total=1, trend="")
        for now in ticks:
            rates.add({"rows": now.rows_per_second})
            bar.update(
                shown, completed=now.chunks_done, total=now.chunks or 1, description=now.line(),
                trend=rates.line("rows", console.encoding),
            )  # fmt: skip


def _lines(ticks: Iterator[JobProgress]) -> None:
    said = ""
    for now in ticks:
        if now.line() != said:
            said = now.line()
            echo(said)
