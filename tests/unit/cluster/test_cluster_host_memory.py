"""Checks what a thread with Arrow data takes in a task host, where hundreds of tasks have one each."""

import subprocess
import sys

import pytest

THREADS = 16
CHILD = f"""
import threading

import psutil

from connect.cluster.hosts.fork_server import set_up_libraries

set_up_libraries()
import pyarrow as pa

def make_array():
    made.append([pa.array(range(n)) for n in (8, 100, 1000, 5000)])
    ready.release()
    end.wait()

made, ready, end = [], threading.Semaphore(0), threading.Event()
def start(count):
    for _ in range(count):
        threading.Thread(target=make_array, daemon=True).start()
        ready.acquire()

start(1)
before = psutil.Process().memory_full_info().uss
start({THREADS})
print((psutil.Process().memory_full_info().uss - before) // {THREADS})
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="hosts are forked on Linux only")
def test_a_task_thread_takes_no_huge_page_for_its_few_arrays() -> None:
    child = subprocess.run([sys.executable, "-c", CHILD], check=True, capture_output=True, text=True)
    assert int(child.stdout) < 300_000
