"""Checks that a real terminal of 80 columns shows a job's progress, also from another process after its driver was
killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections import Counter
from pathlib import Path

from backfill_job import Table

from connect.backfill.job.job import JobPace
from connect.backfill.job.pace import Pace
from connect.lib.deadline import Deadline

ROWS = 1500
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A command on a pseudo-terminal of 80 columns."""

    def __init__(self, cwd: Path, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environ = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "connect.cli", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environ,
            cwd=cwd,
        )
        os.close(theirs)
        self.seen = ""

    def read_until(self, pattern: str, timeout_s: float = 90.0) -> re.Match[str]:
        """What the person sees, without colours and line ends, until it has this."""
        deadline = time.monotonic() + timeout_s
        while (found := re.search(pattern, self.text)) is None:
            assert time.monotonic() < deadline, self.text[-2000:]
            if select.select([self._ours], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self._ours, 65536).decode()
                except OSError:  # the command has ended
                    break
        found = re.search(pattern, self.text)
        assert found, self.text[-2000:]
        return found

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", _ESCAPES.sub("", self.seen))


def test_rows_bytes_chunks_lanes_rate_and_rest_are_seen_and_a_dead_driver_changes_nothing(
    table: Table, tmp_path: Path
) -> None:
    table.fill(ROWS)
    worker, spec, config = (tmp_path / name for name in ("worker.properties", "job.yaml", "c.json"))
    worker.write_text("".join(f"{key}={text}\n" for key, text in table.worker_properties().items()))
    config.write_text(json.dumps({"name": table.name, "config": table.connector()}))
    spec.write_text(
        f"apiVersion: backfill/v1\nname: {table.name}\nsource: {{connector: {table.name}, config: c.json}}\n"
        "engine: {type: local, processes: 2}\nchunking: {rows: 100, lanes: 2}\n"
        f"state: {{jobs_topic: {table.name}-jobs}}\nlimits: {{max_rows_per_second: 150}}\n"
    )
    # The connector is created by its file: nothing but the file is asked for.
    first = Terminal(tmp_path, "backfill", "run", str(spec), "--worker", str(worker), "--url", "http://127.0.0.1:9")
    assert first.process.wait(60) == 1
    first.read_until("127.0.0.1:9")

    run = Terminal(tmp_path, "backfill", "resume", str(spec), "--worker", str(worker))
    try:
        whole = (
            r"RUNNING: +\d+%, (\d+) of 15 chunks, [\d,]+ of about 1,500 rows, [\d.]+ MB, [12] lanes?, "
            r"[1-9][\d,]* rows/s, about [\d,]+ s to go"
        )
        run.read_until(whole)
        assert "━" in run.seen
    finally:
        os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait(30)
    call = ("--worker", str(worker), "--jobs-topic", f"{table.name}-jobs")
    status = Terminal(tmp_path, "backfill", "status", table.name, *call)
    done = int(status.read_until(whole)[1])
    # It is another process: what it draws is kept in Kafka.
    status.read_until(r"since it began: [▁▂▃▄▅▆▇█]+, up to [1-9]\d* rows/s")
    status.read_until(r"limits: \d+ rows/s")
    assert 1 <= done < 15
    refused = Terminal(tmp_path, "backfill", "resume", table.name, *call)
    refused.read_until(f"no connector {table.name}", 60)  # a record in Kafka names no file
    # The rest may come at once.
    with table.driver() as driver:
        driver.store.say(JobPace(table.name, Pace()), Deadline.after(60))
    again = Terminal(tmp_path, "backfill", "resume", str(spec), "--worker", str(worker))
    again.read_until(f"backfill {table.name} is COPIED", 120)
    assert again.process.wait(30) == 0
    over = Terminal(tmp_path, "backfill", "status", "-f", table.name, *call)
    over.read_until("COPIED: 100%, 15 of 15 chunks, 1,500 of about 1,500 rows")
    assert over.process.wait(30) == 0
    assert Counter(table.ids()) == Counter(range(1, ROWS + 1))
