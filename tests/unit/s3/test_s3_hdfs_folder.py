"""Checks HDFS as the store: what becomes of lost answers, which errors pass, and that no text has a token."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing

import pytest
from hdfs_http_server import Hdfs
from s3_http_store import TP, served
from s3_task_runs import batch

from connect.api import schema as s
from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.formats.format_specs import JSON_FORMAT, PARQUET_FORMAT
from connectors.s3.settings.classes import HDFS_STORAGE
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.build import ConfluentPlan
from connectors.s3.sink.sink import S3SinkConnector, S3SinkTask
from connectors.s3.stores.access_errors import RefusedAccessError
from connectors.s3.stores.store import Bucket, Upload

NUMBERS = s.struct({"n": s.INT64})
TOKEN = "a-token-that-nobody-may-read"
ONE = Upload("t/one", b"body", {"kconnect-rows": "7"}, "text/plain")


@pytest.fixture
def hdfs() -> Iterator[Hdfs]:
    with served(Hdfs()) as server:
        yield server


def config(hdfs: Hdfs, **others: str) -> S3SinkConfig:
    return S3SinkConfig.parse({
        "storage.class": HDFS_STORAGE, "s3.bucket.name": "/lake", "store.url": hdfs.url, "format.class": JSON_FORMAT,
        "flush.size": "2", "s3.part.retries": "0", "s3.retry.backoff.ms": "0",
        **{name.replace("_", "."): value for name, value in others.items()},
    })  # fmt: skip


def create(hdfs: Hdfs, upload: Upload = ONE, **others: str) -> object:
    with closing(Bucket(config(hdfs, **others))) as bucket:
        return bucket.create(upload, Deadline.after(60))


def test_a_file_comes_to_be_by_its_renaming_and_a_second_writer_learns_what_it_holds(hdfs: Hdfs):
    assert create(hdfs) is None
    found = create(hdfs, Upload("t/one", b"other", {"kconnect-rows": "9"}, "text/plain"))
    assert found == {"Content-Type": "text/plain", "kconnect-rows": "7"}
    assert hdfs.files == {"/lake/t/one": b"body"}


@pytest.mark.parametrize(
    ("worker", "is_reached"),
    [
        ({"allowed.hosts": "127.0.0.1:{name_node}"}, False),
        ({"allowed.hosts": "127.0.0.1:{name_node},127.0.0.1:{data_node}", "security.profile": "strict"}, True),
        ({"allowed.hosts": "*", "security.profile": "strict"}, True),
        ({}, True),
    ],
)
def test_a_name_node_sends_a_worker_to_hosts_alone_that_its_file_lists(hdfs: Hdfs, worker, is_reached):
    with served(Hdfs()) as data_node:
        hdfs.data_port = data_node.server_port
        data_node.files = hdfs.files
        ports = {"name_node": hdfs.server_port, "data_node": data_node.server_port}
        leave = {name: text.format(**ports) for name, text in worker.items()}
        given = S3SinkConfig.parse(S3SinkConfig.with_leave(config(hdfs).originals, leave))
        with closing(Bucket(given)) as bucket:
            if is_reached:
                assert bucket.create(ONE, Deadline.after(60)) is None
                assert len(data_node.asked) == 1
                return
            words = rf"sends this worker to the data node 127\.0\.0\.1:{ports['data_node']}, which .* allowed\.hosts"
            with pytest.raises(ConfigError, match=words):
                bucket.create(ONE, Deadline.after(60))
        assert data_node.asked == []


def test_a_comma_in_a_path_names_no_second_host(hdfs: Hdfs):
    leave = {"allowed.hosts": f"127.0.0.1:{hdfs.server_port}"}
    given = S3SinkConfig.parse(S3SinkConfig.with_leave(config(hdfs).originals, leave))
    with closing(Bucket(given)) as bucket:
        assert bucket.create(Upload("t/a,b", b"body", {}, "text/plain"), Deadline.after(60)) is None
    assert hdfs.files == {"/lake/t/a,b": b"body"}


@pytest.mark.parametrize("operation", ["CREATE", "SETXATTR", "RENAME"])
def test_a_lost_answer_is_an_object_that_may_be_there_and_the_next_try_finds_out(hdfs: Hdfs, operation: str):
    hdfs.faults[operation] = ["lost answer"]
    with pytest.raises(RetriableError, match="not reachable"):
        create(hdfs)
    assert set(hdfs.files) == ({"/lake/t/one"} if operation == "RENAME" else set()), "nothing unfinished is left"
    created = create(hdfs)
    assert created == ({"Content-Type": "text/plain", "kconnect-rows": "7"} if operation == "RENAME" else None)
    assert hdfs.files == {"/lake/t/one": b"body"}


def test_a_renaming_that_is_asked_for_again_is_known_by_what_is_there(hdfs: Hdfs):
    hdfs.faults["RENAME"] = ["lost answer"]
    assert create(hdfs, s3_part_retries="2") is None
    assert hdfs.files == {"/lake/t/one": b"body"}


def test_a_file_that_was_removed_before_its_renaming_is_no_object(hdfs: Hdfs):
    hdfs.faults["RENAME"] = ["FileNotFoundException"]
    with pytest.raises(RetriableError, match="was removed before it became /lake/t/one"):
        create(hdfs)


def test_content_is_sent_once_under_a_name(hdfs: Hdfs):
    hdfs.faults["CREATE"] = ["lost answer"]
    with pytest.raises(RetriableError, match="data node"):
        create(hdfs, s3_part_retries="5")
    assert hdfs.files == {}


def test_crashes_between_all_steps_leave_each_row_once(hdfs: Hdfs):
    committed = 0
    for crash in (None, "CREATE", "SETXATTR", "RENAME", None, "RENAME", None):
        task = S3SinkTask(ConfluentPlan(config(hdfs)))
        task.open(FakeSinkContext())
        task.put(batch([{"n": n} for n in range(committed, 6)], NUMBERS, first=committed), Deadline.after(60))
        if crash:
            hdfs.faults[crash] = ["lost answer"] * 4
        try:
            committed = task.flush(Deadline.after(60)).get(TP, committed)
        except RetriableError:
            assert crash
        hdfs.faults.clear()
        task.close()
    rows = [json.loads(line)["n"] for body in hdfs.files.values() for line in body.splitlines()]
    assert (committed, sorted(rows)) == (6, [*range(6)])


def test_a_listing_goes_on_behind_a_name_and_has_nothing_unfinished(hdfs: Hdfs):
    for number in range(7):
        create(hdfs, Upload(f"t/{number}", b"", {}, "text/plain"))
    hdfs.files["/lake/t/.kconnect-unfinished-1"] = b""
    with closing(Bucket(config(hdfs))) as bucket:
        assert [one.key for one in bucket.objects("t", Deadline.after(60))] == [f"t/{number}" for number in range(7)]


def test_a_listing_is_in_the_order_of_keys_not_of_names(hdfs: Hdfs):
    keys = ["a!", "a-b/x", "a/b-c/y", "a/b/z", "a/b0", "b"]
    for key in keys:
        create(hdfs, Upload(key, b"", {}, "text/plain"))
    with closing(Bucket(config(hdfs))) as bucket:
        assert [one.key for one in bucket.objects("", Deadline.after(60))] == sorted(keys)
        assert bucket.objects("none", Deadline.after(60)) == []


def test_a_trials_folders_go_with_its_files(hdfs: Hdfs):
    create(hdfs, Upload("topics/t/real", b"", {}, "text/plain"))
    trial = S3SinkConnector(config(hdfs)).trial_target("poc-1")
    create(hdfs, Upload(f"{trial.settings['topics.dir']}/t/partition=0/one", b"", {}, "text/plain"))
    trial.remove(Deadline.after(60))
    assert list(hdfs.files) == ["/lake/topics/t/real"]
    assert hdfs.folders == {"/", "/lake", "/lake/topics", "/lake/topics/t"}


@pytest.mark.parametrize(
    ("operation", "kind", "raised"),
    [
        ("CREATE", "AccessControlException", RefusedAccessError),
        ("RENAME", "StandbyException", RetriableError),
        ("CREATE", "IOException", RetriableError),
        ("SETXATTR", "UnsupportedOperationException", ConfigError),
    ],
)
def test_an_error_is_told_in_hdfs_own_words_and_without_its_stack(hdfs, operation, kind, raised):
    hdfs.faults[operation] = [kind]
    with pytest.raises(raised) as found:
        create(hdfs)
    assert type(found.value) is raised
    assert f"told by {kind}" in str(found.value)
    assert "Java.java" not in str(found.value)
    assert hdfs.files == {}


def test_a_data_node_that_this_worker_does_not_reach_is_named(hdfs: Hdfs):
    hdfs.data_port = 1
    with pytest.raises(RetriableError, match=r"sends this worker to the data node 127\.0\.0\.1:1"):
        create(hdfs)


@pytest.mark.parametrize("fault", ["lost answer", "AccessControlException", "IOException"])
@pytest.mark.parametrize("operation", ["CREATE", "RENAME"])
def test_a_token_is_sent_and_is_in_no_text(hdfs: Hdfs, operation: str, fault: str):
    hdfs.faults[operation] = [fault]
    with pytest.raises(ConnectError) as raised:
        create(hdfs, hdfs_delegation_token=TOKEN)
    assert any(asked.get("delegation") == TOKEN for asked in hdfs.asked)
    error: BaseException | None = raised.value
    while error is not None:
        assert TOKEN not in f"{error} {error!r} {error.args}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_a_store_that_replaces_what_is_there_is_found_by_the_check(hdfs: Hdfs):
    S3SinkConnector(config(hdfs)).check(Deadline.after(60))
    assert hdfs.files == {}
    hdfs.is_conditional = False
    with pytest.raises(ConfigError, match="replaced an object") as raised:
        S3SinkConnector(config(hdfs)).check(Deadline.after(60))
    assert raised.value.key == "enable.conditional.writes"


def test_without_the_condition_a_file_is_replaced(hdfs: Hdfs):
    for body in (b"former", b"later"):
        assert create(hdfs, Upload("one", body, {}, "text/plain"), enable_conditional_writes="false") is None
    assert hdfs.files == {"/lake/one": b"later"}


def test_settings_that_do_not_fit_are_named_at_once(hdfs: Hdfs):
    wrong = {
        "store_url": "", "s3_bucket_name": "lake", "hdfs_user_name": "me", "hdfs_delegation_token": TOKEN,
        "s3_proxy_url": "http://proxy", "s3_acl_canned": "private", "table_format": "iceberg",
        "format_class": PARQUET_FORMAT,
    }  # fmt: skip
    with pytest.raises(ConfigError) as raised:
        config(hdfs, **wrong)
    assert {
        "store.url", "s3.bucket.name", "hdfs.user.name", "s3.proxy.url", "s3.acl.canned", "table.format",
    } <= {problem.key for problem in raised.value.problems}  # fmt: skip
    assert TOKEN not in str(raised.value)
