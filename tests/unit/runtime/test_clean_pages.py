"""Pages of libraries that are given back, in a process of its own: it must live on."""

import subprocess
import sys
from pathlib import Path

import pytest

from connect.runtime import clean_pages

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


def test_a_library_that_is_just_being_loaded_keeps_its_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    smaps = tmp_path / "smaps"
    monkeypatch.setattr(clean_pages, "_SMAPS", smaps)
    settled = "1000-2000 r-xp 00000000 08:01 7 /lib/old.so\nRss: 4 kB\nAnonymous: 0 kB\n"
    # The loader maps the whole file first, and its data over a part of that afterwards.
    smaps.write_text(settled + "5000-9000 r--p 00000000 08:01 8 /lib/new.so\nAnonymous: 0 kB\n")
    pages = clean_pages.CleanPages()
    smaps.write_text(settled + "5000-7000 r--p 00000000 08:01 8 /lib/new.so\nAnonymous: 0 kB\n")
    given_back: list[tuple[int, int]] = []
    monkeypatch.setattr(pages, "_madvise", lambda start, size_bytes, _: given_back.append((start, size_bytes)))
    pages.forget()
    assert given_back == [(0x1000, 0x1000)]
