"""Checks that a wait for a worker's process shows what the worker logged meanwhile, and ends with the process."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services import KafkaEndpoint

LONG_S = 120.0


def test_a_worker_that_cannot_start_ends_the_wait_with_its_exit_code_and_log(
    kafka: KafkaEndpoint, tmp_path: Path
) -> None:
    worker = WorkerProcess(tmp_path, kafka.bootstrap_servers, "refused", **{"offset.flush.interval.ms": "often"})
    began_s = time.monotonic()
    with pytest.raises(pytest.fail.Exception) as failed:
        worker.start(LONG_S)
    assert time.monotonic() - began_s < LONG_S
    assert "its process ended with exit code" in str(failed.value)
    assert "offset.flush.interval.ms" in str(failed.value)


def test_a_wait_that_fails_shows_what_was_logged_meanwhile_and_where_threads_are(tmp_path: Path) -> None:
    worker = WorkerProcess(tmp_path, "127.0.0.1:1", "alone")
    try:
        with pytest.raises(pytest.fail.Exception) as failed:
            worker.start(10.0)
    finally:
        worker.kill()
    said = str(failed.value)
    assert "health of the worker" in said
    assert "not within 10.0 s" in said
    assert "127.0.0.1:1" in said
    assert "most recent call first" in said


def test_what_a_process_did_last_counts_before_its_end(tmp_path: Path) -> None:
    class Ended:
        def exit_code(self) -> int:
            return 1

        def log_tail(self) -> str:
            return "the last line"

    assert wait_for(lambda: "done", 0.0, "the last act", by=Ended()) == "done"
    with pytest.raises(pytest.fail.Exception, match="exit code 1; the last answer was 0\nthe last line"):
        wait_for(lambda: 0, LONG_S, "the last act", by=Ended())
