"""Checks when the tasks of a worker may run at all."""

import time

import pytest
from cluster_fakes import eventually

from connect.cluster.hosts import lease as leases
from connect.cluster.hosts.lease import Lease

RESUME_S = 0.4


@pytest.fixture
def heard(monkeypatch):
    """Whether a broker answers, asked more often than in life."""
    monkeypatch.setattr(leases, "REACH_EVERY_S", 0.02)
    return [True]


@pytest.fixture
def lease(heard):
    lease = Lease(valid_s=0.8, unheard_s=0.6, reach=lambda timeout_s: heard[0], resume_s=RESUME_S)
    yield lease
    lease.close()


def test_it_is_good_from_the_word_of_the_group_on():
    lease = Lease(valid_s=60)
    assert not lease.is_good
    lease.hold()
    assert lease.is_good
    lease.revoke()
    assert not lease.is_good
    lease.hold()
    assert lease.is_good
    lease.close()


def test_after_silence_it_counts_again_only_when_it_was_good_for_a_while(lease, heard):
    lease.hold()
    heard[0] = False
    eventually(lambda: not lease.is_good)
    again_s = time.monotonic()
    heard[0] = True
    eventually(lambda: lease.is_good)
    assert time.monotonic() - again_s >= RESUME_S
