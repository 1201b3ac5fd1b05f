"""How many heaps the C library has after threads have used some, in a process of its own."""

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

USES_HEAPS = """
import ctypes, sys, threading
from connect.runtime.heaps import share_heaps

share_heaps()
library = ctypes.CDLL(None)
library.malloc.restype = library.fopen.restype = ctypes.c_void_p
library.malloc.argtypes = (ctypes.c_size_t,)
all_there = threading.Barrier(10)

def work():
    library.malloc(10_000)
    all_there.wait()

threads = [threading.Thread(target=work) for _ in range(10)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
file = ctypes.c_void_p(library.fopen(sys.argv[1].encode(), b"w"))
library.malloc_info(0, file)
library.fclose(file)
"""


def heaps_used(folder: Path, environment: dict[str, str]) -> int:
    report = folder / "heaps.xml"
    subprocess.run([sys.executable, "-c", USES_HEAPS, str(report)], check=True, timeout=60, env=environment)
    return len(re.findall("<heap nr=", report.read_text()))


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="only the GNU C library tells its heaps")
def test_threads_share_two_heaps_unless_the_user_says_another_number(tmp_path: Path):
    without = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    assert heaps_used(tmp_path, without) == 2
    assert heaps_used(tmp_path, without | {"MALLOC_ARENA_MAX": "5"}) == 5
