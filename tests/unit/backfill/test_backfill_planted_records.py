"""Whoever may write to the jobs topic stops no other job by a record of his, and is shown no secret by it."""

from __future__ import annotations

import json

import pytest

from connect.api.errors import ConnectError
from connect.backfill.job.job import Job, Jobs, job_key
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.states import JobState, JobStateError

SPEC = BackfillSpec.model_validate(
    {"apiVersion": "backfill/v1", "name": "orders", "source": {"connector": "orders-source"}}
)
GOOD = Job(
    spec=SPEC.model_dump(mode="json", by_alias=True), state=JobState.RUNNING, run="r", chunks=1, rows=1, size_bytes=1,
    following=[], statements=[], warnings=[], created_ms=1, updated_ms=1, worker="w:1", group="g",
)  # fmt: skip
DEEP = b"[" * 100_000


def told(**members: object) -> bytes:
    """Return the value of the job `planted` with these members in place of good ones."""
    value = json.loads(GOOD.record[1])
    value["spec"]["name"] = "planted"
    return json.dumps(value | members).encode()


@pytest.mark.parametrize(
    "key",
    [b"", b"\xff\xfe", b"no json", b"null", b"5", b"[]", b"{}", DEEP, b'{"job":5}', b'{"job":null}', b'{"job":["a"]}',
     b'{"job":{}}', b'{"job":""}', b'{"job":"orders","other":1}', b'{"job":"orders","pace":5}',
     b'{"job":"orders","pace":{}}'],
)  # fmt: skip
@pytest.mark.parametrize("value", [b"{}", None, DEEP])
def test_a_key_that_no_backfill_writes_is_left_alone(key, value):
    jobs = Jobs([GOOD.record, (key, value)])
    assert (list(jobs.jobs), jobs.unreadable) == (["orders"], {})


@pytest.mark.parametrize(
    "value",
    [b"", b"no json", b"null", b"[1]", b"5", b'"x"', b"\xff\xfe", DEEP, b'{"spec":' + b"9" * 5000 + b"}", b"{}"],
)
@pytest.mark.parametrize("kind", [{}, {"pace": True}, {"wish": True}])
def test_a_value_that_no_backfill_writes_is_unreadable_and_stops_no_other_job(kind, value):
    jobs = Jobs([(json.dumps({"job": "planted", **kind}).encode(), value), GOOD.record])
    if kind == {"pace": True} and value == b"{}":
        assert not jobs.unreadable  # a pace without limits
        return
    assert (list(jobs.jobs), list(jobs.unreadable)) == (["orders"], ["planted"])
    with pytest.raises(JobStateError):
        jobs.known("planted")


@pytest.mark.parametrize(
    ("member", "value"),
    [("state", "x"), ("state", None), ("state", [1]), ("run", 5), ("chunks", "x"), ("chunks", None), ("rows", 1e308),
     ("rows", float("inf")), ("following", "x"), ("following", [5]), ("following", [{}]), ("following", {"a": 1}),
     ("statements", "SELECT"), ("statements", [1]), ("warnings", 5), ("created_ms", "x"), ("updated_ms", None),
     ("error", [1]), ("worker", None), ("worker", ["w"]), ("group", None), ("group", ["g"]), ("group", {"g": 1}),
     ("spec", None), ("spec", "x"), ("spec", [1]), ("spec", {})],
)  # fmt: skip
def test_a_member_of_another_type_is_unreadable(member, value):
    jobs = Jobs([(job_key("planted"), told(**{member: value})), GOOD.record])
    assert (list(jobs.jobs), list(jobs.unreadable)) == (["orders"], ["planted"])


@pytest.mark.parametrize("missing", ["spec", "state", "run", "chunks", "created_ms"])
def test_a_job_that_lacks_a_member_is_unreadable(missing):
    value = json.loads(told())
    del value[missing]
    jobs = Jobs([(job_key("planted"), json.dumps(value).encode()), GOOD.record])
    assert (list(jobs.jobs), list(jobs.unreadable)) == (["orders"], ["planted"])


@pytest.mark.parametrize("pace", [{"max_rows_per_second": "x"}, {"window": 5}, {"max_replica_lag": [1]}])
def test_a_pace_of_another_type_is_unreadable(pace):
    jobs = Jobs([GOOD.record, (b'{"job":"orders","pace":true}', json.dumps(pace).encode())])
    assert list(jobs.unreadable) == ["orders"]
    with pytest.raises(ConnectError, match=next(iter(pace))):
        jobs.known("orders")


def test_the_reason_names_the_place_and_shows_no_value():
    jobs = Jobs([(job_key("planted"), told(chunks="Kx7-secret-9Qz", spec={"password": "Kx7-secret-9Qz"}))])
    why = jobs.unreadable["planted"]
    assert "Kx7-secret-9Qz" not in why
    assert "chunks" in why


def test_members_of_a_newer_release_are_left_alone():
    jobs = Jobs([(job_key("planted"), told(later={"a": 1}))])
    assert (list(jobs.jobs), jobs.unreadable) == (["planted"], {})
