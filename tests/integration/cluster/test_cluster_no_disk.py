"""A worker on a machine whose folders for temporary files cannot be written to, and a sink whose disk is full."""

import subprocess

import cluster_worker
import pytest
from cluster_worker import eventually

NOT_READ_ONLY = 99
READ_ONLY = """
for folder in /tmp /var/tmp /usr/tmp "$PWD"; do
    [ -d "$folder" ] || continue
    mount --bind "$folder" "$folder" && mount -o remount,bind,ro "$folder" || exit 99
done
cd "$PWD" && exec "$@"
"""
"""Makes every folder that Python would use for temporary files read-only, for one process and its children."""
WITHOUT_TEMPORARY_FILES = ("unshare", "--map-root-user", "--mount", "sh", "-c", READ_ONLY, "sh")


@pytest.fixture
def read_only(monkeypatch, tmp_path):
    """Workers that are started from here on may write no temporary file; permissions would not stop a root."""
    monkeypatch.chdir(tmp_path)
    probe = [*WITHOUT_TEMPORARY_FILES, "touch", str(tmp_path / "probe")]
    try:
        tried = subprocess.run(probe, capture_output=True, text=True, check=False, timeout=30)
    except FileNotFoundError:
        pytest.skip("NOT TESTED: read-only temporary folders, as there is no `unshare` here")
    if tried.returncode == NOT_READ_ONLY or "unshare" in tried.stderr:
        pytest.skip(f"NOT TESTED: read-only temporary folders, as mounts of one's own are refused: {tried.stderr}")
    assert "Read-only file system" in tried.stderr
    monkeypatch.setattr(cluster_worker, "COMMAND", (*WITHOUT_TEMPORARY_FILES, *cluster_worker.COMMAND))


def sink(topic, file):
    return {"connector.class": "FileStreamSink", "tasks.max": "1", "topics": topic, "file": str(file)}


def test_a_worker_needs_no_temporary_file_and_a_sink_that_needs_a_disk_is_refused(
    read_only, start_worker, unique, tmp_path
):
    worker = start_worker(cold=True).ready()
    numbers = f"{unique}-numbers"
    worker.create("c", topic=numbers)
    eventually(worker.runs("c"))
    file = tmp_path / "out.txt"
    refused = worker.call("POST", "/connectors", {"name": "sink", "config": sink(numbers, file)})
    assert refused.status_code == 400
    assert f"the file system of {tmp_path} is read-only" in refused.json()["message"]
    assert worker.runs("c")()
    assert worker.stop() == 0


def test_a_full_disk_is_told_and_costs_the_others_nothing(start_worker, unique):
    worker = start_worker(**{"allowed.paths": "/dev/full"}).ready()
    numbers = f"{unique}-numbers"
    worker.create("c", topic=numbers)
    worker.create("full", **sink(numbers, "/dev/full"))
    eventually(lambda: "Writing to /dev/full failed: No space left on device" in worker.log.read_text())
    eventually(worker.runs("c"))
    assert worker.call("GET", "/health").status_code == 200
    assert worker.call("DELETE", "/connectors/full").status_code == 204
    assert worker.runs("c")()
