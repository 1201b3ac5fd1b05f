"""Small objects of a path become large ones, and the sink goes on as if nothing was done."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import fastavro
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from command_files import sink_file, worker_file
from s3_http_store import TP
from s3_task_runs import batch

from connect.api import schema as s
from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.optional.compaction import CompactedFiles, Compaction
from connect.cli import main
from connect.convert.avro.values import avro_values
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.formats.format_specs import (
    AVRO_FORMAT,
    BYTES_FORMAT,
    CSV_FORMAT,
    JSON_ARRAY_FORMAT,
    JSON_FORMAT,
    PARQUET_FORMAT,
)
from connectors.s3.settings.classes import FIELD_PARTITIONER, LOCAL_STORAGE
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.build import ConfluentPlan
from connectors.s3.sink.sink import S3SinkConnector, S3SinkTask
from connectors.s3.stores.store import Bucket

TYPES = {"n": s.INT64, "p": s.STRING, "new": s.INT64}
WISH = Compaction(target_bytes=2**20)


def config(root: Path, **others: str) -> S3SinkConfig:
    return S3SinkConfig.parse({
        "storage.class": LOCAL_STORAGE, "s3.bucket.name": str(root), "s3.local.folders": str(root.parent),
        "format.class": PARQUET_FORMAT, "flush.size": "3",
        **{name.replace("_", "."): value for name, value in others.items()},
    })  # fmt: skip


def soon() -> Deadline:
    return Deadline.after(60)


def write(given: S3SinkConfig, start: int, stop: int, fields: str = "n p", step: int = 5) -> dict:
    """A life of a task that reads from one offset to another, and what it claims."""
    task = S3SinkTask(ConfluentPlan(given))
    task.open(FakeSinkContext(avro_values=avro_values))
    schema = s.struct({name: TYPES[name] for name in fields.split()})
    for first in range(start, stop, step):
        numbers = range(first, min(first + step, stop))
        if given.format_class == BYTES_FORMAT:
            made = batch([b"%d" % n for n in numbers], s.BYTES, first)
        else:
            rows = [{"n": n, "p": "ab"[n % 2], "new": n} for n in numbers]
            made = batch([{name: row[name] for name in fields.split()} for row in rows], schema, first)
        task.put(made, soon())
    claimed = task.flush(soon())
    task.close()
    return dict(claimed)


def compact(given: S3SinkConfig, wish: Compaction = WISH) -> list[CompactedFiles]:
    connector = S3SinkConnector(given)
    return [done for group in connector.compaction_groups(wish) if (done := connector.compact(group)) is not None]


def files(root: Path) -> list[Path]:
    return sorted(file for file in root.rglob("*") if file.is_file())


def numbers(root: Path) -> list[int]:
    """What readers of all objects find."""
    return sorted(n for file in files(root) for n in read(file))


def read(file: Path) -> list[int]:
    if file.suffix == ".parquet":
        return pq.read_table(file, partitioning=None)["n"].to_pylist()
    if file.suffix == ".avro":
        return [row["n"] for row in fastavro.reader(io.BytesIO(file.read_bytes()))]
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    if ".csv" in file.name:
        return [int(row["n"]) for row in csv.DictReader(io.StringIO(text.decode(), newline=""))]
    if text.startswith(b"["):
        return [row["n"] for row in json.loads(text)]
    return [int(line) if ".bin" in file.name else json.loads(line)["n"] for line in text.splitlines()]


@pytest.mark.parametrize(
    "others",
    [
        {"parquet_codec": "zstd"},
        {"format_class": JSON_FORMAT},
        {"format_class": JSON_FORMAT, "s3_compression_type": "gzip"},
        {"format_class": JSON_ARRAY_FORMAT},
        {"format_class": BYTES_FORMAT},
        {"format_class": CSV_FORMAT, "s3_compression_type": "gzip"},
        {"format_class": AVRO_FORMAT, "avro_codec": "deflate"},
    ],
    ids=["parquet", "json", "json gzip", "array", "bytes", "csv gzip", "avro"],
)
def test_small_objects_of_every_format_become_one_and_the_last_is_left(root: Path, others: Mapping[str, str]):
    given = config(root, **others)
    assert write(given, 0, 15) == {TP: 15}
    (done,) = compact(given)
    assert (done.files_before, done.files_after, done.rows) == (4, 1, 12)
    assert numbers(root) == list(range(15))
    names = [file.name.partition(".")[0] for file in files(root)]
    assert names == ["t+0+0000000000-0000000012", "t+0+0000000012"]
    assert compact(given) == []


@pytest.mark.parametrize("committed", [0, 4, 12, 15])
def test_a_sink_that_reads_again_behind_a_compaction_writes_no_row_twice(root: Path, committed: int):
    given = config(root)
    write(given, 0, 15)
    compact(given)
    assert write(given, committed, 21, step=4) == {TP: 21}
    assert numbers(root) == list(range(21))
    compact(given)
    assert numbers(root) == list(range(21))
    assert [file.name.partition(".")[0] for file in files(root)] == ["t+0+0000000000-0000000018", "t+0+0000000018"]


@pytest.mark.parametrize("step", [5, 60])
def test_objects_with_unread_rows_between_them_are_joined_apart(root: Path, step: int):
    given = config(root)
    for start in (30, 90, 150):
        write(given, start, start + 30)
    assert compact(given)
    assert len(files(root)) == 4, "a joined object for each run, and the last one"
    write(given, 0, 210, step=step)
    assert numbers(root) == list(range(210))
    compact(given)
    write(given, 0, 213, step=step)
    assert numbers(root) == list(range(213))


def test_paths_are_joined_apart_and_large_or_young_objects_are_left(root: Path):
    given = config(root, partitioner_class=FIELD_PARTITIONER, partition_field_name="p")
    write(given, 0, 30)
    assert compact(given, Compaction(2**20, min_age_s=3600)) == []
    assert compact(given, Compaction(100)) == []
    size = max(file.stat().st_size for file in files(root))
    assert [done.files_before for done in compact(given, Compaction(2 * size + 2))] == [2, 2, 2, 2]
    assert numbers(root) == list(range(30))
    assert {file.parent.name for file in files(root)} == {"p=a", "p=b"}


def test_objects_of_another_schema_begin_another_one(root: Path):
    given = config(root)
    write(given, 0, 6)
    write(given, 6, 15, "n new")
    (done,) = compact(given)
    assert (done.files_before, done.files_after) == (4, 2)
    assert numbers(root) == list(range(15))
    assert [len(pq.read_schema(file)) for file in files(root)] == [2, 2, 2]
    assert compact(given) == []


def dying(monkeypatch: pytest.MonkeyPatch, method: str, *, behind: bool, calls: int = 1) -> None:
    """The process dies in a call of the bucket's, before or behind what it does."""
    real, left = getattr(Bucket, method), [calls]

    def call(bucket: Bucket, *given: object) -> object:
        left[0] -= 1
        if left[0] == 0 and not behind:
            raise RetriableError("died")
        answer = real(bucket, *given)
        if left[0] == 0:
            raise RetriableError("died")
        return answer

    monkeypatch.setattr(Bucket, method, call)


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("method", ["objects", "metadata", "content", "create", "delete"])
def test_a_compaction_that_dies_loses_nothing_and_the_next_one_leaves_each_row_once(
    root: Path, monkeypatch: pytest.MonkeyPatch, method: str, behind: bool
):
    given = config(root)
    write(given, 0, 15)
    with monkeypatch.context() as dies:
        dying(dies, method, behind=behind)
        with pytest.raises(RetriableError, match="died"):
            compact(given)
    assert set(numbers(root)) == set(range(15))
    assert write(given, 2, 18, step=4) == {TP: 18}
    compact(given)
    compact(given)
    assert numbers(root) == list(range(18))


def test_a_compaction_that_dies_while_it_deletes_is_made_good(root: Path, monkeypatch: pytest.MonkeyPatch):
    given = config(root)
    write(given, 0, 15)

    def some(bucket: Bucket, keys: list[str], deadline: Deadline) -> None:
        delete(bucket, keys[1:3], deadline)
        raise RetriableError("died")

    delete = Bucket.delete
    with monkeypatch.context() as dies:
        dies.setattr(Bucket, "delete", some)
        with pytest.raises(RetriableError, match="died"):
            compact(given)
    assert set(numbers(root)) == set(range(15))
    assert len(numbers(root)) > 15, "nothing was left to make good"
    (done,) = compact(given)
    assert (done.files_before, done.files_after, done.rows) == (3, 1, 12)
    assert numbers(root) == list(range(15))


def test_what_a_former_owner_writes_behind_a_compaction_is_named_and_left(root: Path, caplog: pytest.LogCaptureFixture):
    given = config(root)
    write(given, 0, 15)
    late = files(root)[1]
    kept = shutil.copy2(late, root.parent / "late")
    compact(given)
    shutil.copy2(kept, late)
    os.utime(late, (time.time() + 60, time.time() + 60))
    assert compact(given) == []
    assert late.exists()
    assert "0000000003.snappy.parquet was written later than" in caplog.text


def test_of_two_compactions_of_the_same_objects_one_finds_them_gone(root: Path):
    given = config(root)
    write(given, 0, 15)
    one, other = S3SinkConnector(given), S3SinkConnector(given)
    (group,) = one.compaction_groups(WISH)
    assert list(other.compaction_groups(WISH)) == [group]
    assert one.compact(group) is not None
    assert other.compact(group) is None
    assert numbers(root) == list(range(15))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(5))
def test_tasks_and_compactions_that_die_leave_each_row_once(root: Path, monkeypatch: pytest.MonkeyPatch, seed: int):
    chance, committed = random.Random(seed), 0
    given = config(root, flush_size="7", partitioner_class=FIELD_PARTITIONER, partition_field_name="p")
    for _ in range(12):
        stop = min(committed + chance.randint(1, 60), 200)
        claimed = write(given, committed, stop, step=chance.randint(1, 20)).get(TP, committed)
        committed = chance.choice([committed, claimed])
        with monkeypatch.context() as dies, suppress(RetriableError):
            method = chance.choice(["metadata", "content", "create", "delete"])
            dying(dies, method, behind=chance.random() < 0.5, calls=chance.randint(1, 12))
            compact(given, Compaction(chance.choice([5000, 2**20])))
        assert set(numbers(root)) >= set(range(committed))
    each = config(root, flush_size="1", partitioner_class=FIELD_PARTITIONER, partition_field_name="p")
    assert write(each, committed, 210) == {TP: 210}
    compact(given)
    compact(given)
    assert numbers(root) == list(range(210))


def test_the_command_tells_what_it_would_join_and_joins_what_is_old_enough(root: Path, tmp_path: Path):
    given = config(root)
    write(given, 0, 15)
    command = ["compact", sink_file(tmp_path, given.originals), "--worker", worker_file(tmp_path)]
    told = CliRunner().invoke(main, [*command, "--min-age-hours", "0", "--dry-run"])
    assert "topics/t/partition=0/t+0+: 4 files of 0.0 MiB would become 1" in told.output
    young = CliRunner().invoke(main, command)
    assert (young.exit_code, young.output, len(files(root))) == (0, "", 5)
    done = CliRunner().invoke(main, [*command, "--min-age-hours", "0"])
    assert done.exit_code == 0, done.output
    assert "4 files of 0.0 MiB became 1, with 12 rows" in done.output
    assert (numbers(root), len(files(root))) == (list(range(15)), 2)


def test_what_the_sink_needs_where_it_is_is_not_joined(root: Path):
    for others, key in (
        ({"enable_conditional_writes": "false"}, "enable.conditional.writes"),
        ({"store_kafka_keys": "true", "keys_format_class": JSON_FORMAT}, "store.kafka.keys"),
    ):
        with pytest.raises(ConfigError) as raised:
            compact(config(root, **others))
        assert raised.value.key == key


def test_objects_of_somebody_else_are_named_and_left(root: Path):
    given = config(root)
    write(given, 0, 15)
    first = files(root)[0]
    body = first.read_bytes()
    first.unlink()
    first.write_bytes(body)
    with pytest.raises(ConnectError, match=r"t\+0\+0000000000.*does not say by its metadata"):
        compact(given)
    assert numbers(root) == list(range(15))
