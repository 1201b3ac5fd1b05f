"""Stops one of three brokers while rows flow: each row arrives once, and nobody has to help."""

from __future__ import annotations

import pytest
from e2e_brokers import NUMBERS, SESSION_S, ThreeBrokers
from e2e_flow import flowing

from connect.kafka.admin.cluster_state import cluster_state
from connect.lib.deadline import Deadline

pytestmark = pytest.mark.timeout(900)

ROLES = ("config topic", "workers' group", "sink's group", "transactions", "controller")
"""What a broker does for rows on their way to S3."""
OTHERS = (
    ("bigquery", "sink's group"),
    ("copies", "transactions"),
    ("copies", "copies"),
    ("backfill", "lane's transactions"),
    ("backfill", "job's transactions"),
    ("backfill", "markers"),
)
"""What it does for other parts that it does not do for those."""
EACH = pytest.mark.parametrize(("flow", "role"), [*(("s3", role) for role in ROLES), *OTHERS], indirect=["flow"])
PARTS = pytest.mark.parametrize("flow", ["s3", "bigquery", "copies", "backfill"], indirect=True)


@pytest.fixture
def brokers(tmp_path):
    with ThreeBrokers(tmp_path) as started:
        yield started


@pytest.fixture
def flow(request, brokers, make_flow):
    with flowing(make_flow(getattr(request, "param", "s3"), brokers)) as made:
        yield made


def _told(what: str, flow, recovered_s: list[float]) -> None:
    seconds = ", ".join(f"{one:.1f}" for one in recovered_s)
    print(f"{what}: {flow.check()}; rows flowed after {seconds} s", flush=True)  # noqa: T201


def _assert_all_tell_their_settings(brokers: ThreeBrokers) -> None:
    """Each broker is asked for its settings, as one answers for itself alone; they are of one release."""
    told = cluster_state({"bootstrap.servers": brokers.bootstrap_servers}, (), (), Deadline.after(60))
    assert set(told.releases) == {*NUMBERS}
    assert {(one.release, one.is_least, one.names) for one in told.releases.values()} == {
        ((4, 0), True, told.releases[1].names)
    }
    assert told.broker["offsets.retention.minutes"] == "10080"


def test_a_killed_broker_costs_no_row_and_repeats_none(brokers, flow):
    _assert_all_tell_their_settings(brokers)
    victim = flow.roles()["config topic"]()
    brokers.kill(victim)
    recovered_s = [flow.until_rows_flow()]
    _told(f"config topic's leader {victim} killed", flow, recovered_s)


@pytest.mark.chaos
@EACH
def test_the_broker_of_each_role_is_killed_and_comes_back(brokers, flow, role):
    victim = flow.roles()[role]()
    brokers.kill(victim)
    recovered_s = [flow.until_rows_flow()]
    brokers.start(victim)
    brokers.wait_until_whole()
    recovered_s.append(flow.until_rows_flow())
    _told(f"{role}: broker {victim} killed", flow, recovered_s)


@pytest.mark.chaos
@EACH
def test_a_broker_is_frozen_for_longer_than_its_session(brokers, flow, role):
    victim = flow.roles()[role]()
    brokers.freeze(victim)
    frozen = Deadline.after(2 * SESSION_S)
    recovered_s = [flow.until_rows_flow()]
    frozen.wait(2 * SESSION_S)
    brokers.thaw(victim)
    brokers.wait_until_whole()
    recovered_s.append(flow.until_rows_flow())
    _told(f"{role}: broker {victim} frozen", flow, recovered_s)


@pytest.mark.chaos
@PARTS
def test_all_brokers_are_killed_at_once_and_come_back(brokers, flow):
    """The machines go on: what a broker has written is on its disk, as it would not be after a loss of power."""
    for number in NUMBERS:
        brokers.kill(number)
    away = Deadline.after(2 * SESSION_S)
    away.wait(2 * SESSION_S)
    assert not any(map(brokers.is_running, NUMBERS))
    brokers.start(*NUMBERS)
    brokers.wait_until_whole()
    _told("all brokers killed", flow, [flow.until_rows_flow()])


@pytest.mark.chaos
@PARTS
def test_all_brokers_are_restarted_one_after_the_other(brokers, flow):
    recovered_s = []
    for number in NUMBERS:
        brokers.stop(number)
        recovered_s.append(flow.until_rows_flow())
        brokers.start(number)
        brokers.wait_until_whole()
    recovered_s.append(flow.until_rows_flow())
    _told("rolling restart", flow, recovered_s)


@pytest.mark.chaos
@PARTS
@pytest.mark.parametrize("place", [0, 1])
def test_a_worker_is_killed_while_a_broker_is_away(brokers, flow, place):
    victim = flow.roles()["workers' group"]()
    brokers.kill(victim)
    flow.workers[place].kill()
    recovered_s = [flow.until_rows_flow()]
    flow.workers[place].start()
    brokers.start(victim)
    brokers.wait_until_whole()
    recovered_s.append(flow.until_rows_flow())
    _told(f"worker {place} and broker {victim} killed", flow, recovered_s)
