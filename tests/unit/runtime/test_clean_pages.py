"""Pages of libraries that are given back, in a process of its own: it must live on."""

import subprocess
import sys

import pytest

USES_ARROW = """
import threading
import pyarrow as pa, pyarrow.compute as pc, confluent_kafka, numpy, orjson, psutil
from connect.runtime.clean_pages import CleanPages

def work():
    assert pc.sum(pa.array([1, 2, 3])).as_py() == 6
    assert pc.utf8_upper(pa.array(["a"])).to_pylist() == ["A"]
    assert orjson.loads(orjson.dumps(numpy.arange(3).tolist())) == [0, 1, 2]
    confluent_kafka.Producer({"bootstrap.servers": "127.0.0.1:1"}).flush(0.1)

def resident():
    return psutil.Process().memory_info().rss // 2**20

pages = CleanPages()
work()
before = resident()
pages.forget()
print(before - resident())
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for _ in range(50):
    pages.forget()
for thread in threads:
    thread.join()
work()
"""


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells which pages are clean")
def test_libraries_work_on_while_and_after_their_pages_are_given_back():
    done = subprocess.run([sys.executable, "-c", USES_ARROW], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
    assert int(done.stdout) >= 15
