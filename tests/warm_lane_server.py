"""Loads what a backfill's lanes need into the process from which `warm_lanes` forks them."""

from __future__ import annotations

import gc
import os
import threading
from multiprocessing import connection, process
from pathlib import Path

import warm_hosts

from connect.backfill.engines import local


def _die_with_driver(driver: int) -> None:
    """End this process when its driver dies; the kernel's parent of this process is another one."""
    parent = process.parent_process()
    assert parent is not None
    assert parent.pid == driver

    def end() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=end, name="driver", daemon=True).start()


local.die_with_parent = _die_with_driver
warm_hosts.load()
threads = list(Path("/proc/self/task").iterdir())
assert len(threads) == 1, f"{len(threads)} threads: a fork would lose all but one of them."
gc.collect()
gc.freeze()
