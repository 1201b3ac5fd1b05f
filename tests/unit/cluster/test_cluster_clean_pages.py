"""Pages of libraries that are given back, in a process of its own: it must live on."""

import subprocess
import sys

import pytest

USES_ARROW = """
import pyarrow as pa, pyarrow.compute as pc, confluent_kafka
from connect.cluster.clean_pages import forget_clean_pages
assert pc.sum(pa.array([1, 2])).as_py() == 3
print(forget_clean_pages() // 2**20)
assert pc.sum(pa.array([1, 2, 3])).as_py() == 6
assert pa.compute.utf8_upper(pa.array(["a"])).to_pylist() == ["A"]
confluent_kafka.Producer({"bootstrap.servers": "127.0.0.1:1"}).flush(0.1)
"""


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells which pages are clean")
def test_libraries_work_on_after_most_of_their_pages_were_given_back():
    done = subprocess.run([sys.executable, "-c", USES_ARROW], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 15
