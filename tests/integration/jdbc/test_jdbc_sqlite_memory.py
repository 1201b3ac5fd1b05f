"""Reading a large table needs no more memory than a small one. Run as a script, reads one file and prints its peak."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

ROWS = 100_000
SETTINGS = {
    "keyset pages": {"mode": "bulk"},
    "one stream": {
        "mode": "timestamp+incrementing",
        "timestamp__column__name": "ts",
        "incrementing__column__name": "id",
    },
}


def read_all(path: Path, settings: dict[str, str]) -> tuple[int, int]:
    """Rows read, and the peak of the process in MB."""
    from jdbc_drive import OffsetStore, opened

    from connect.lib.deadline import Deadline

    task = opened(
        path, OffsetStore(), table__whitelist="t", batch__max__rows=5000, poll__interval__ms=600_000, **settings
    )
    count, deadline = 0, Deadline.after(120)
    while not deadline.expired:
        batch = task.poll(deadline.sooner(1))
        count += len(batch) if batch is not None else 0
        if batch is None and task._ahead is None:
            break
    task.close()
    # Not ru_maxrss, which begins with what the process that started this one had.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return count, int(status.partition("VmHWM:")[2].split()[0]) // 1024


def table(path: Path, rows: int) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, ts TIMESTAMP NOT NULL, filling TEXT)")
        made = ((i, f"2024-01-01 {i // 3600 % 24:02d}:00:00", f"{i:0>600}") for i in range(rows))
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", made)
    return path


@pytest.mark.parametrize("way", ["keyset pages", pytest.param("one stream", marks=pytest.mark.chaos)])
def test_a_hundred_thousand_rows_need_no_more_memory_than_five_thousand(tmp_path, way):
    def peak_mb(rows: int) -> int:
        path = table(tmp_path / f"{rows}.db", rows)
        command = [sys.executable, __file__, str(path), way]
        # A safe path, which tests before this one may have asked of all children, has not the folder of the script.
        env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        folder = Path(__file__).parents[3]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder, env=env)
        assert done.returncode == 0, done.stderr
        count, peak = map(int, done.stdout.split())
        assert count == rows
        return peak

    assert peak_mb(ROWS) - peak_mb(5_000) < 40


if __name__ == "__main__":
    sys.stdout.write(" ".join(map(str, read_all(Path(sys.argv[1]), SETTINGS[sys.argv[2]]))))
