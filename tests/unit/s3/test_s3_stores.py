"""Checks stores of other clouds: the condition that each is asked for, whose keys go where, and what goes with none."""

from __future__ import annotations

import json

import pytest
from s3_http_store import Store, config
from s3_task_runs import TaskRun, batch

from connect.api import schema as s
from connect.api.errors import ConfigError
from connect.lib.deadline import Deadline
from connectors.s3.formats.format_specs import JSON_FORMAT
from connectors.s3.settings.classes import AZURE_STORAGE, GCS_STORAGE
from connectors.s3.sink.sink import S3SinkConnector

GCS = {"storage_class": GCS_STORAGE, "format_class": JSON_FORMAT}
NUMBERS = s.struct({"n": s.INT64})


def rows(start: int, stop: int) -> list[dict[str, int]]:
    return [{"n": n} for n in range(start, stop)]


def numbers(store: Store) -> list[int]:
    return sorted(json.loads(line)["n"] for body, _ in store.objects.values() for line in body.splitlines())


def test_google_creates_by_its_own_condition_and_a_second_life_goes_on_behind_it(store):
    first = TaskRun(store, **GCS)
    first.put(batch(rows(0, 5), NUMBERS))
    first.flush()
    second = TaskRun(store, **GCS)  # from a commit before what is there
    second.put(batch(rows(2, 9), NUMBERS, first=2))
    second.flush()
    first.put(batch(rows(5, 12), NUMBERS, first=5))
    first.flush()
    assert numbers(store) == list(range(12))
    assert len(store.objects) == 3


def test_a_store_that_ignores_googles_condition_is_found_by_the_check(store):
    S3SinkConnector(config(store, **GCS)).check(Deadline.after(60))
    store.is_conditional = False
    with pytest.raises(ConfigError, match="replaced an object") as raised:
        S3SinkConnector(config(store, **GCS)).check(Deadline.after(60))
    assert raised.value.key == "enable.conditional.writes"


def test_the_workers_own_account_is_not_told_to_an_address_of_a_configuration(store, tmp_path, monkeypatch):
    path = tmp_path / "key.json"
    own = {"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "t"}
    path.write_text(json.dumps(own))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    run = TaskRun(store, **GCS)
    run.put(batch(rows(0, 3), NUMBERS))
    assert run.written()
    assert {(text or "").removeprefix("Bearer").strip() for text in store.authorizations} == {""}


def test_what_is_amazons_alone_and_what_azure_needs_is_named(store):
    with pytest.raises(ConfigError) as raised:
        config(store, storage_class=AZURE_STORAGE, s3_acl_canned="private")
    assert {problem.key for problem in raised.value.problems} == {"azblob.account.name", "s3.acl.canned"}


@pytest.mark.parametrize(
    "account", ["evil.example/", "evil.example:443/#", "x@evil.example/", "evil.example?", "A", "a.b"]
)
def test_an_azure_account_is_no_part_of_an_address_of_another_host(store, account):
    with pytest.raises(ConfigError) as raised:
        config(store, storage_class=AZURE_STORAGE, azblob_account_name=account)
    assert [problem.key for problem in raised.value.problems] == ["azblob.account.name"]
