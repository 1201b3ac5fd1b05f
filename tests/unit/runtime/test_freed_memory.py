"""What threads have freed is given back to the system."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
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


ARENAS = """
import ctypes, tempfile, threading
from connect.runtime.host.freed_memory import share_arenas

share_arenas()
libc, step = ctypes.CDLL(None), threading.Barrier(65)
libc.fopen.restype = ctypes.c_void_p

def work():
    kept = bytearray(5000)
    step.wait()
    step.wait()

for _ in range(64):
    threading.Thread(target=work, daemon=True).start()
step.wait()
with tempfile.NamedTemporaryFile("r") as file:
    opened = ctypes.c_void_p(libc.fopen(file.name.encode(), b"w"))
    libc.malloc_info(0, opened)
    libc.fclose(opened)
    print(file.read().count("<heap "), flush=True)
step.wait()
"""


@pytest.mark.parametrize(("given", "arenas"), [({}, max(2, os.cpu_count() or 1)), ({"MALLOC_ARENA_MAX": "3"}, 3)])
def test_threads_of_a_host_share_few_arenas(given: dict[str, str], arenas: int) -> None:
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("ONLY GLIBC CAN BE ASKED TO GIVE BACK WHAT ITS ARENAS KEEP: nothing is tested here")
    unset = {name: value for name, value in os.environ.items() if name not in {"MALLOC_ARENA_MAX", "GLIBC_TUNABLES"}}
    counted = subprocess.run(
        [sys.executable, "-c", ARENAS], env=unset | given, check=True, capture_output=True, text=True, timeout=60
    )
    assert int(counted.stdout) == arenas
