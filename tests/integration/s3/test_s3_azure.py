"""Checks the S3 sink's objects in Azure's blobs, as Azurite has them: the same guarantee, by Azure's own condition."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pyarrow.parquet as pq
import pytest
from azurite import AzuriteService
from s3_sink_driver import PARQUET, ROWS, batch, open_task, soon, write_with_crashes

from connect.api.errors import ConfigError
from connect.api.records import TopicPartition
from connect.tools.services.process.errors import ArtifactError
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.sink import S3SinkConnector
from connectors.s3.stores.store import Bucket, Upload

pytestmark = [pytest.mark.integration, pytest.mark.chaos]  # Azurite is fetched, which takes a minute

TP = TopicPartition("orders", 1)


@pytest.fixture(scope="module")
def azurite() -> Iterator[AzuriteService]:
    service = AzuriteService()
    try:
        service.prepare()
    except ArtifactError as error:
        pytest.skip(f"AZURE IS NOT TESTED: {error}")
    with service:
        service.create_container("lake")
        yield service


@pytest.fixture
def given(azurite: AzuriteService, unique: str) -> dict[str, str]:
    own = azurite.endpoint
    return {
        "storage.class": "connect.s3.AzureBlobStorage", "s3.bucket.name": "lake", "store.url": own.url,
        "azblob.account.name": own.account, "azblob.account.key": own.key, "format.class": PARQUET, "flush.size": "37",
        "topics.dir": unique, "s3.part.retries": "0",
    }  # fmt: skip


def test_check_makes_sure_of_the_condition_and_names_what_is_wrong(given):
    S3SinkConnector(S3SinkConfig.parse(given)).check(soon())
    for wrong, key in (({"s3.bucket.name": "none"}, "s3.bucket.name"), ({"azblob.account.key": "bm8="}, "azblob")):
        with pytest.raises(ConfigError) as raised:
            S3SinkConnector(S3SinkConfig.parse({**given, **wrong})).check(soon())
        assert key in str(raised.value.key)


def test_of_ten_that_create_an_object_one_wins_and_the_others_learn_what_it_holds(given, unique):
    bucket = Bucket(S3SinkConfig.parse(given))
    told = [{"kconnect-start-offset": str(number), "kconnect-topic-id": "a_b-c"} for number in range(10)]
    started = [
        bucket.start_create(Upload(f"{unique}/one+0+0.bin", b"x", one, "application/octet-stream")) for one in told
    ]
    while pending := [one for one in started if not one.done()]:
        bucket.wait_for_one(pending, soon())
    winners = [number for number, one in enumerate(started) if one.result() is None]
    assert len(winners) == 1
    expected = {**told[winners[0]], "Content-Type": "application/octet-stream"}
    assert all(dict(one.result()) == expected for one in started if one.result() is not None)
    bucket.close()


def test_a_trials_objects_are_read_and_removed(azurite, given, unique):
    trial = S3SinkConnector(S3SinkConfig.parse(given)).trial_target("poc-1")
    task = open_task({**given, **trial.settings})
    task.put(batch(TP, [{"n": n, "p": "a"} for n in range(74)], 0, ROWS), soon())
    task.flush(soon())
    task.close()
    assert len(list(trial.rows(soon()))) == 74
    trial.remove(soon())
    assert list(trial.rows(soon())) == []
    assert list(azurite.endpoint.store("lake").list(unique)) == []


@pytest.mark.parametrize("seed", range(3))
def test_crashes_and_replays_with_other_cuts_and_clocks_leave_each_row_once(azurite, given, unique, seed):
    write_with_crashes(given, TP, seed)
    store = azurite.endpoint.store("lake")
    keys = [found["path"] for page in store.list(unique) for found in page]
    bodies = (bytes(store.get(key).bytes()) for key in keys)
    assert sorted(n for body in bodies for n in pq.read_table(io.BytesIO(body))["n"].to_pylist()) == list(range(300))
