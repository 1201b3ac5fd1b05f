"""What threads have freed is given back to the system."""

from __future__ import annotations

import platform
import threading

import psutil
import pytest

from connect.runtime.host.freed_memory import give_back_freed_memory

BLOCKS, BLOCK_BYTES = 2_000, 50_000


def test_what_a_thread_freed_below_a_block_that_is_left_goes_back() -> None:
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("ONLY GLIBC CAN BE ASKED TO GIVE BACK WHAT ITS ARENAS KEEP: nothing is tested here")
    left: list[bytes] = []

    def work() -> None:
        blocks = [b"x" * BLOCK_BYTES for _ in range(BLOCKS)]
        left.append(b"x" * BLOCK_BYTES)
        blocks.clear()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    kept_bytes = psutil.Process().memory_full_info().uss
    give_back_freed_memory()
    assert left
    assert kept_bytes - psutil.Process().memory_full_info().uss > BLOCKS * BLOCK_BYTES / 2
