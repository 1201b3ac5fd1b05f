"""Checks who may use which internal topics; and the page that a worker shares with its hosts where there is no room."""

import os
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from connect.api.errors import ConnectError
from connect.cluster.hosts.lease import Lease
from connect.cluster.model.cluster_claim import KEY, ClusterClaim, conflict
from connect.runtime.settings.internal_topics import claimed_topics
from connect.runtime.settings.worker_config import WorkerConfig

KEYS = ("config.storage.topic", "offset.storage.topic", "status.storage.topic")


def claim(group, *topics):
    return ClusterClaim(group, dict(zip(KEYS, topics, strict=True)))


MINE = claim("g", "c", "o", "s")


def test_a_claim_survives_the_wire():
    properties = {"bootstrap.servers": "x:1", "group.id": "g", "key.converter": "J", "value.converter": "J"}
    worker = WorkerConfig.parse({**properties, **MINE.topics})
    assert ClusterClaim.of(worker) == MINE
    assert ClusterClaim.parse(MINE.as_bytes()) == MINE


def test_the_audit_topic_is_claimed_and_two_clusters_may_have_one_together():
    properties = {"bootstrap.servers": "x:1", "group.id": "g", "key.converter": "J", "value.converter": "J"}
    mine = ClusterClaim.of(WorkerConfig.parse({**properties, **MINE.topics, "rest.audit.topic": "audit"}))
    assert claimed_topics(KEY, mine.as_bytes()) == ["c", "o", "s", "audit"]
    assert claimed_topics(KEY, MINE.as_bytes()) == ["c", "o", "s"]
    assert ClusterClaim.parse(mine.as_bytes()).audit_topic == "audit"
    assert conflict(mine, replace(claim("h", "c2", "o2", "s2"), audit_topic="audit")) is None
    assert conflict(mine, MINE) is None


@pytest.mark.parametrize("value", [None, b"", b"\xff", b"[]", b"{}", b'{"group.id":1}', b"[" * 100_000])
def test_what_is_no_claim_counts_as_none(value):
    assert ClusterClaim.parse(value) is None


@pytest.mark.parametrize("other", [MINE, claim("h", "c2", "o2", "s2")])
def test_one_cluster_and_strangers_do_not_conflict(other):
    assert conflict(MINE, other) is None


def test_one_group_with_other_topics_names_both():
    error = conflict(MINE, claim("g", "c", "o2", "s"))
    assert error.key == "offset.storage.topic"
    assert "offset.storage.topic=o2" in str(error)
    assert "this worker has config.storage.topic=c, offset.storage.topic=o" in str(error)


@pytest.mark.parametrize("other", [("c", "x", "y"), ("x", "c", "y"), ("x", "y", "c")])
def test_a_topic_of_another_group_names_both(other):
    error = conflict(MINE, claim("h", *other))
    assert error.key == "config.storage.topic"
    assert "Topic c, the config.storage.topic of this worker with group.id=g, is the" in str(error)
    assert "cluster with group.id=h" in str(error)


def test_a_lease_needs_no_disk(monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", None)
    lease = Lease(1.0)
    lease.close()
    os.close(lease.descriptor)


def test_where_a_lease_needs_a_file_a_full_disk_is_named(monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "TemporaryFile", partial(Path("/dev/full").open, "r+b"))
    with pytest.raises(ConnectError, match="No space left on device") as caught:
        Lease(1.0)
    assert "TMPDIR" in str(caught.value)
