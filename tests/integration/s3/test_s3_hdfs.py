"""Checks the S3 sink's objects in HDFS, a name node and a data node of Hadoop's: the same guarantee, by renaming."""

from __future__ import annotations

import io
import multiprocessing
import threading
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.synchronize import Semaphore
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hdfs_server import LISTED_AT_ONCE, HdfsEndpoint, HdfsService
from s3_sink_driver import PARQUET, ROWS, batch, open_task, soon, write_with_crashes

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.records import TopicPartition
from connect.tools.services.process.errors import ArtifactError, JavaNotFoundError
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.sink import S3SinkConnector
from connectors.s3.stores.store import Bucket, Upload

pytestmark = [pytest.mark.integration, pytest.mark.chaos]  # 90 MB are fetched, and a cluster starts in 10 to 40 s

TP = TopicPartition("orders", 1)
USER = "sink"


@pytest.fixture(scope="module")
def hdfs() -> Iterator[HdfsService]:
    service = HdfsService()
    try:
        service.prepare()
    except (ArtifactError, JavaNotFoundError) as error:
        pytest.skip(f"HDFS IS NOT TESTED: {error}")
    with service:
        yield service


@pytest.fixture
def lake(hdfs: HdfsService, unique: str) -> str:
    hdfs.endpoint.make_folder(f"/{unique}", USER)
    return f"/{unique}"


@pytest.fixture
def given(hdfs: HdfsService, lake: str) -> dict[str, str]:
    return {
        "storage.class": "connect.s3.HdfsStorage", "s3.bucket.name": lake, "store.url": hdfs.endpoint.url,
        "hdfs.user.name": USER, "format.class": PARQUET, "flush.size": "37", "s3.part.retries": "0",
    }  # fmt: skip


def numbers(endpoint: HdfsEndpoint, lake: str) -> list[int]:
    """Of all rows, read by nothing of the sink's; a file that is not whole, or is left over, is an error."""
    bodies = [endpoint.ask("GET", "OPEN", path) for path in endpoint.files(lake)]
    return sorted(n for body in bodies for n in pq.read_table(io.BytesIO(body))["n"].to_pylist())


def connector(given: dict[str, str], **others: str) -> S3SinkConnector:
    return S3SinkConnector(S3SinkConfig.parse({**given, **{k.replace("_", "."): v for k, v in others.items()}}))


def test_check_makes_sure_of_the_condition_and_leaves_nothing(hdfs, given, lake):
    connector(given).check(soon())
    assert list(hdfs.endpoint.files(lake)) == []


@pytest.mark.parametrize(
    ("wrong", "key", "text"),
    [
        ({"s3_bucket_name": "/none"}, "s3.bucket.name", "/none of HDFS .* does not exist"),
        ({"hdfs_user_name": "eve"}, "hdfs.user.name", "Permission denied: user=eve, access=WRITE"),
        ({"store_url": "{url}/jmx"}, "store.url", "does not speak WebHDFS"),
    ],
)
def test_check_names_what_is_wrong(given, wrong, key, text):
    wrong = {name: value.format(url=given["store.url"]) for name, value in wrong.items()}
    with pytest.raises(ConfigError, match=text) as raised:
        connector(given, **wrong).check(soon())
    assert raised.value.key == key


def test_of_ten_that_create_an_object_one_wins_and_the_others_learn_what_it_holds(hdfs, given, lake):
    key = "topics/one+0+0.bin"
    with closing(Bucket(S3SinkConfig.parse(given))) as bucket:
        told = [{"kconnect-start-offset": str(number), "kconnect-topic-id": "a_b-c ü"} for number in range(10)]
        started = [bucket.start_create(Upload(key, b"%d" % n, one, "text/plain")) for n, one in enumerate(told)]
        while pending := [one for one in started if not one.done()]:
            bucket.wait_for_one(pending, soon())
    winners = [number for number, one in enumerate(started) if one.result() is None]
    assert len(winners) == 1
    expected = {**told[winners[0]], "Content-Type": "text/plain"}
    assert all(one.result() == expected for one in started if one.result() is not None)
    assert hdfs.endpoint.ask("GET", "OPEN", f"{lake}/{key}") == b"%d" % winners[0]
    assert list(hdfs.endpoint.files(lake)) == [f"{lake}/{key}"]


def test_objects_of_any_key_are_listed_in_the_order_of_their_text_and_read(given):
    keys = [
        "a/x+0+1.json", "a-b/y", "a/city=New%20York;é&f=1?/z #1", "a!", "b/c/d/e", *(f"a/n+{n}" for n in range(9)),
    ]  # fmt: skip
    assert len(keys) > LISTED_AT_ONCE * 2
    with closing(Bucket(S3SinkConfig.parse(given))) as bucket:
        for key in keys:
            assert bucket.create(Upload(key, key.encode(), {}, "text/plain"), soon()) is None
        assert [found.key for found in bucket.objects("", soon())] == sorted(keys)
        assert [found.key for found in bucket.objects("b", soon())] == ["b/c/d/e"]
        assert bucket.objects("none", soon()) == []
        assert [bucket.content(key, soon()) for key in keys] == [key.encode() for key in keys]
        with pytest.raises(ConnectError, match="no colon"):
            bucket.create(Upload("a:b", b"", {}, "text/plain"), soon())
        bucket.delete(["a!", "gone"], soon())
        assert bucket.content("a!", soon()) is None


def test_a_trials_objects_are_read_and_removed(hdfs, given, lake):
    trial = connector(given).trial_target("poc-1")
    task = open_task({**given, **trial.settings})
    task.put(batch(TP, [{"n": n, "p": "a"} for n in range(74)], 0, ROWS), soon())
    task.flush(soon())
    task.close()
    assert len(list(trial.rows(soon()))) == 74
    trial.remove(soon())
    assert hdfs.endpoint.ask("GET", "LISTSTATUS", lake)["FileStatuses"]["FileStatus"] == []


@pytest.mark.parametrize("seed", range(3))
def test_crashes_and_replays_with_other_cuts_and_clocks_leave_each_row_once(hdfs, given, lake, seed):
    write_with_crashes(given, TP, seed)
    assert numbers(hdfs.endpoint, lake) == list(range(300))


def live(given: dict[str, str], committed: Path, steps: Semaphore) -> None:
    """What a worker does: read from the commit on, put, flush, commit; until all is committed. Steps are told."""
    position = int(committed.read_text())
    task = open_task(given)
    while position < 400:
        for start in range(position, min(position + 30, 400), 10):
            steps.release()
            task.put(batch(TP, [{"n": n, "p": "ab"[n % 2]} for n in range(start, start + 10)], start, ROWS), soon())
            position = start + 10
        steps.release()
        claimed = task.flush(soon()).get(TP)
        if claimed is not None:
            committed.write_text(str(claimed))
    task.close()


def test_a_sink_that_is_killed_twice_leaves_each_row_once(hdfs, given, lake, tmp_path):
    committed, context = tmp_path / "committed", multiprocessing.get_context("spawn")
    committed.write_text("0")
    settings = {**given, "flush.size": "5"}
    for kill_behind in (9, 14, None):
        steps = context.Semaphore(0)
        sink = context.Process(target=live, args=(settings, committed, steps))
        sink.start()
        if kill_behind is not None:
            assert all(steps.acquire(timeout=60) for _ in range(kill_behind))
            sink.kill()
        sink.join(120)
        assert sink.exitcode == (0 if kill_behind is None else -9)
    whole = [path for path in hdfs.endpoint.files(lake) if ".kconnect-unfinished-" not in path]
    bodies = [hdfs.endpoint.ask("GET", "OPEN", path) for path in whole]
    assert sorted(n for body in bodies for n in pq.read_table(io.BytesIO(body))["n"].to_pylist()) == list(range(400))


def test_while_the_name_node_is_away_the_sink_says_so_and_goes_on_when_it_is_back(hdfs, given, lake):
    task = open_task({**given, "flush.size": "5", "s3.request.timeout.ms": "5000"})
    task.put(batch(TP, [{"n": n, "p": "a"} for n in range(5)], 0, ROWS), soon())
    assert task.flush(soon()) == {TP: 5}
    hdfs.kill()
    task.put(batch(TP, [{"n": n, "p": "a"} for n in range(5, 12)], 5, ROWS), soon())
    for _ in range(2):
        with pytest.raises(RetriableError, match=f"The name node at {given['store.url']} is not reachable"):
            task.flush(soon())
    hdfs.start()
    durable, deadline = {}, soon()
    while durable != {TP: 10} and not deadline.expired:
        try:
            durable = task.flush(deadline)
        except RetriableError:
            threading.Event().wait(0.1)
    task.close()
    assert durable == {TP: 10}
    assert numbers(hdfs.endpoint, lake) == list(range(10))
