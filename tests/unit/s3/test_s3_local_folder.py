"""Checks a folder of this machine as the store: the same guarantee, the kernel being who refuses a second create."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from s3_http_store import TP
from s3_task_runs import batch

from connect.api import schema as s
from connect.api.allowed_paths import AllowedPaths
from connect.api.errors import ConfigError, ConnectError, RejectedRowsError
from connect.api.records import Column
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.formats.format_specs import JSON_FORMAT, PARQUET_FORMAT
from connectors.s3.settings.classes import FIELD_PARTITIONER, LOCAL_STORAGE
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.build import ConfluentPlan
from connectors.s3.sink.sink import S3SinkConnector, S3SinkTask
from connectors.s3.stores.local_folder import LocalFolder

ROW = s.struct({"n": s.INT64, "p": s.STRING})


def config(folder: Path, **others: str) -> S3SinkConfig:
    return S3SinkConfig.parse({
        "storage.class": LOCAL_STORAGE, "s3.bucket.name": str(folder), "s3.local.folders": str(folder.parent),
        "format.class": PARQUET_FORMAT, "flush.size": "3",
        **{name.replace("_", "."): value for name, value in others.items()},
    })  # fmt: skip


def numbers(root: Path) -> list[int]:
    return sorted(
        n for file in root.rglob("*.parquet") for n in pq.read_table(file, partitioning=None)["n"].to_pylist()
    )


def test_objects_are_files_and_the_check_leaves_none(root: Path):
    S3SinkConnector(config(root)).check(Deadline.after(60))
    assert list(root.rglob("*")) == [] or not [p for p in root.rglob("*") if p.is_file()]
    task = S3SinkTask(ConfluentPlan(config(root)))
    task.open(FakeSinkContext())
    task.put(batch([{"n": n, "p": "a"} for n in range(7)], ROW), Deadline.after(60))
    assert task.flush(Deadline.after(60)) == {TP: 6}
    task.close()
    files = [file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file()]
    assert sorted(files) == [f"topics/t/partition=0/t+0+000000000{n}.snappy.parquet" for n in (0, 3)]


@pytest.mark.parametrize("seed", range(6))
def test_crashes_and_replays_with_other_cuts_and_clocks_leave_each_row_once(root: Path, seed: int):
    chance, clock, committed = random.Random(seed), [0], 0
    given = config(
        root, flush_size="37", rotate_schedule_interval_ms="1000", partitioner_class=FIELD_PARTITIONER,
        partition_field_name="p", store_kafka_keys="true", keys_format_class=JSON_FORMAT,
    )  # fmt: skip
    while committed < 300:
        task = S3SinkTask(ConfluentPlan(given), now_ms=lambda: clock[0])
        task.open(FakeSinkContext())
        position = committed
        for _ in range(chance.randint(1, 8)):
            stop = min(300, position + chance.randint(1, 40))
            rows = [{"n": n, "p": "abc"[n % 3]} for n in range(position, stop)]
            keys = Column.from_rows(list(range(position, stop)), s.INT64)
            task.put(batch(rows, ROW, first=position, keys=keys), Deadline.after(60))
            position, clock[0] = stop, clock[0] + chance.randint(0, 600)
        flushed = task.flush(Deadline.after(60)).get(TP, committed)
        committed = chance.choice([committed, flushed])
        task.close()
    assert numbers(root) == list(range(300))


def test_of_ten_that_create_an_object_one_wins(root: Path):
    folder = LocalFolder(root, AllowedPaths([str(root)]))

    def create(number: int) -> bool:
        from obstore.exceptions import AlreadyExistsError

        put = folder.put_async(
            "a/b", b"%d" % number, attributes={"who": str(number)}, tags=None, mode="create", use_multipart=False
        )
        try:
            asyncio.run(put)
        except AlreadyExistsError:
            return False
        return True

    with ThreadPoolExecutor(10) as pool:
        won = list(pool.map(create, range(10)))
    assert won.count(True) == 1
    found = asyncio.run(folder.get_async("a/b", options={"head": True}))
    assert found.attributes == {"who": str(won.index(True))}
    assert (root / "a" / "b").read_bytes() == b"%d" % won.index(True)
    assert [file.name for file in (root / "a").iterdir()] == ["b"]


def test_a_process_that_is_killed_while_it_writes_leaves_whole_objects_alone(root: Path):
    code = (
        "import asyncio, sys; from pathlib import Path; from connectors.s3.stores.local_folder import LocalFolder\n"
        "from connect.api.allowed_paths import AllowedPaths\n"
        "f = LocalFolder(Path(sys.argv[1]), AllowedPaths([sys.argv[1]])); print('go', flush=True)\n"
        "async def main():\n"
        "    for n in range(10**6):\n"
        "        await f.put_async(f'a/{n:06d}', bytes(20000), attributes={'n': str(n)}, tags=None, mode='create', "
        "use_multipart=False)\n"
        "        print(n, flush=True)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(root)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        while writer.stdout.readline().strip() != "25":
            pass
        writer.send_signal(signal.SIGKILL)
    folder = LocalFolder(root, AllowedPaths([str(root)]))

    async def keys() -> list[str]:
        return [one["path"] async for page in folder.list("a", chunk_size=10) for one in page]

    listed = asyncio.run(keys())
    assert listed[:26] == [f"a/{n:06d}" for n in range(26)]
    for key in listed:
        assert (root / key).stat().st_size == 20000
        assert asyncio.run(folder.get_async(key, options={"head": True})).attributes == {"n": str(int(key[2:]))}


def test_the_worker_says_where_connectors_may_write(tmp_path: Path):
    given = {
        "storage.class": LOCAL_STORAGE, "s3.bucket.name": str(tmp_path / "root"), "format.class": JSON_FORMAT,
        "flush.size": "1", "s3.local.folders": "/",
    }  # fmt: skip
    mine = S3SinkConfig.with_leave(given, {})
    with pytest.raises(ConfigError, match=r"add to the worker's own file: allowed\.paths=/"):
        S3SinkConfig.parse(mine)
    assert S3SinkConfig.parse(S3SinkConfig.with_leave(given, {"s3.local.folders": str(tmp_path)})).bucket
    (tmp_path / "allowed").mkdir()
    (tmp_path / "allowed" / "link").symlink_to("/")
    out = {**given, "s3.bucket.name": str(tmp_path / "allowed" / "link" / "etc")}
    with pytest.raises(ConfigError, match="lets no configuration name"):
        S3SinkConfig.parse(S3SinkConfig.with_leave(out, {"s3.local.folders": str(tmp_path / "allowed")}))


@pytest.mark.parametrize("key", ["../out", "a/../../out", "a//b", "/etc/x", "a\0b"])
def test_no_key_leads_out_of_the_folder(root: Path, key: str):
    put = LocalFolder(root, AllowedPaths([str(root)])).put_async(
        key, b"", attributes={}, tags=None, mode="create", use_multipart=False
    )
    with pytest.raises(ConnectError, match="is no path below"):
        asyncio.run(put)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(ConfigError, match="does not exist"):
        S3SinkConnector(config(tmp_path / "none")).check(Deadline.after(60))


@pytest.mark.parametrize(
    "value", ["a\0b", "\0", "../\0", "x" * 400, "ä" * 130], ids=["nul", "bare", "dots", "long", "utf8"]
)
def test_a_value_that_makes_no_name_of_a_file_is_one_bad_row(root: Path, value: str):
    settings = config(root, partitioner_class=FIELD_PARTITIONER, partition_field_name="p")
    task = S3SinkTask(ConfluentPlan(settings))
    task.open(FakeSinkContext())
    rows = [{"n": n, "p": value if n == 3 else "a"} for n in range(7)]
    with pytest.raises(RejectedRowsError) as refused:
        task.put(batch(rows, ROW), Deadline.after(60))
    assert list(refused.value.rows) == [3]
    assert task.flush(Deadline.after(60)) == {TP: 7}
    task.close()
    assert numbers(root) == [0, 1, 2, 4, 5, 6]
