"""Measures what the processes of workers use over time, and writes a report with plots of it."""

from __future__ import annotations

import html
import json
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import psutil

from connect.poc.report.charts import HEIGHT, WIDTH, drawing_of
from connect.poc.sandbox.result import Chart

LOOK_S = 5.0
UNITS = {"private memory": "MiB", "threads": "", "descriptors": "", "connections": ""}
_STYLE = "body{font:15px sans-serif;max-width:50em;margin:2em auto}svg{width:100%;background:#f4f4f4}"
_HEAD = f"<!doctype html><meta charset=utf-8><style>{_STYLE}</style>"


class Use:
    """Measures the process trees of some names all the time, on a thread."""

    def __init__(self, pids: Mapping[str, Callable[[], int]]) -> None:
        """Take `pids`, the first process of each name."""
        self._pids = pids
        self._began_s = time.monotonic()
        self.seen: dict[str, list[tuple[float, dict[str, float]]]] = {name: [] for name in pids}
        """Maps each name to measurements: the seconds since the beginning, and the value of each figure of UNITS
        then.
        """
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(60)

    def growth(self, name: str, figure: str) -> tuple[float, float]:
        """Return the medians of the second and of the last quarter; their difference is the growth once everything had
        begun.
        """
        values = [figures[figure] for _, figures in self.seen[name]]
        quarter = max(1, len(values) // 4)
        return statistics.median(values[quarter : 2 * quarter]), statistics.median(values[-quarter:])

    def write(self, folder: Path, lines: Sequence[str]) -> Path:
        """Write the figures as JSON, and a page with the lines and a plot of each figure. Return the page's path."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "soak.json").write_text(json.dumps(self.seen))
        told = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
        plots = "".join(self._plot(name, figure) for figure in UNITS for name in self.seen)
        page = folder / "soak.html"
        page.write_text(f"{_HEAD}<h1>Soak</h1><ul>{told}</ul>{plots}")
        return page

    def _plot(self, name: str, figure: str) -> str:
        points = [(at_s, figures[figure]) for at_s, figures in self.seen[name]]
        drawn = drawing_of(Chart(f"{name}: {figure}", UNITS[figure], points))
        return (
            f'<h2>{drawn.title}</h2><p>{drawn.summary}</p><svg viewBox="0 0 {WIDTH} {HEIGHT}">'
            f'<polyline fill="none" stroke="#06c" points="{drawn.line}"/></svg><p>{drawn.top}, {drawn.seconds}</p>'
        )

    def _look(self) -> None:
        while not self._end.wait(LOOK_S):
            for name, pid_of in self._pids.items():
                with suppress(psutil.NoSuchProcess):  # a host ended meanwhile: the next look counts
                    self.seen[name].append((time.monotonic() - self._began_s, _figures(pid_of())))


def _figures(pid: int) -> dict[str, float]:
    root = psutil.Process(pid)
    processes = [root, *root.children(recursive=True)]
    return {
        "private memory": sum(process.memory_full_info().uss for process in processes) / 2**20,
        "threads": sum(process.num_threads() for process in processes),
        "descriptors": sum(process.num_fds() for process in processes),
        "connections": sum(len(process.net_connections("tcp")) for process in processes),
    }
