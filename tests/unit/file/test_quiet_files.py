"""One thread watches the quiet files of all tasks of a process, and wakes those tasks whose file has changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from connectors.file.quiet_files import QuietFiles, look_at

FAR_S = 3600.0
"""The thread looks by itself after the test only."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "lines"
    file.write_text("a line\n")
    return file


@pytest.mark.parametrize(
    ("change", "wakes"),
    [
        (lambda _: None, 0),
        (lambda file: file.open("a").write("more\n"), 1),
        (lambda file: file.write_text(""), 1),
        (os.unlink, 1),
        (lambda file: (file.with_name("new").write_text("a line\n"), file.with_name("new").rename(file)), 1),
        (os.utime, 0),
    ],
    ids=["nothing", "grown", "cut off", "gone", "another of the same size", "touched"],
)
def test_a_task_is_woken_once_when_its_file_has_changed(
    path: Path, change: Callable[[Path], object], wakes: int
) -> None:
    files, woken = QuietFiles(FAR_S), []
    with files.watching(path, look_at(path), lambda: woken.append(1)):
        change(path)
        files.look()
        files.look()
    assert len(woken) == wakes


def test_a_file_that_was_not_there_wakes_its_task_when_it_comes(tmp_path: Path) -> None:
    files, woken = QuietFiles(FAR_S), []
    path = tmp_path / "later"
    with files.watching(path, look_at(path), lambda: woken.append(1)):
        files.look()
        assert not woken
        path.write_text("")
        files.look()
    assert len(woken) == 1


def test_a_task_that_waits_no_more_is_not_woken(path: Path) -> None:
    files, woken = QuietFiles(FAR_S), []
    with files.watching(path, look_at(path), lambda: woken.append(1)):
        pass
    path.write_text("other\n")
    files.look()
    assert not woken


def test_what_has_come_before_the_watch_began_wakes_the_task(path: Path) -> None:
    files, woken, seen = QuietFiles(FAR_S), [], look_at(path)
    path.write_text("a line\nand one\n")
    with files.watching(path, seen, lambda: woken.append(1)):
        files.look()
    assert len(woken) == 1


def test_one_thread_serves_all_tasks(path: Path) -> None:
    files, woken = QuietFiles(0.01), threading.Semaphore(0)
    before = threading.active_count()
    watches = [files.watching(path, look_at(path), woken.release) for _ in range(50)]
    for watch in watches:
        watch.__enter__()
    assert threading.active_count() - before == 1
    with path.open("a") as lines:
        lines.write("more\n")
    assert all(woken.acquire(timeout=30) for _ in watches)
    for watch in watches:
        watch.__exit__(None, None, None)
