"""One of three brokers goes while rows flow from a database to S3: each row is there once, and nobody has to help."""

from __future__ import annotations

import pytest
from e2e_brokers import NUMBERS, SESSION_S, ThreeBrokers
from e2e_pipeline import pipeline

from connect.lib.deadline import Deadline

pytestmark = pytest.mark.timeout(900)

ROLES = {
    "config topic": lambda brokers, flow: brokers.leader_of(f"{flow.name}-configs"),
    "workers' group": lambda brokers, flow: brokers.coordinator_of(flow.name),
    "sink's group": lambda brokers, flow: brokers.coordinator_of(f"connect-{flow.sink}"),
    "transactions": lambda brokers, flow: brokers.transaction_coordinator_of(f"{flow.name}-{flow.source}-0"),
    "controller": lambda brokers, flow: brokers.controller(),
}
"""What a broker does for the pipeline -> which one does it."""


@pytest.fixture
def brokers(tmp_path):
    with ThreeBrokers(tmp_path) as started:
        yield started


@pytest.fixture
def flow(brokers, s3, s3_bucket, tmp_path, unique):
    with pipeline(brokers, s3, s3_bucket, tmp_path, unique) as flowing:
        yield flowing


def _told(what: str, flow, recovered_s: list[float]) -> None:
    seconds = ", ".join(f"{one:.1f}" for one in recovered_s)
    print(f"{what}: {flow.check()}; rows flowed after {seconds} s", flush=True)  # noqa: T201


def test_a_killed_broker_costs_no_row_and_repeats_none(brokers, flow):
    victim = ROLES["config topic"](brokers, flow)
    brokers.kill(victim)
    recovered_s = [flow.until_rows_flow()]
    _told(f"config topic's leader {victim} killed", flow, recovered_s)


@pytest.mark.chaos
@pytest.mark.parametrize("role", ROLES)
def test_the_broker_of_each_role_is_killed_and_comes_back(brokers, flow, role):
    victim = ROLES[role](brokers, flow)
    brokers.kill(victim)
    recovered_s = [flow.until_rows_flow()]
    brokers.start(victim)
    brokers.wait_until_whole()
    recovered_s.append(flow.until_rows_flow())
    _told(f"{role}: broker {victim} killed", flow, recovered_s)


@pytest.mark.chaos
@pytest.mark.parametrize("role", ROLES)
def test_a_broker_is_frozen_for_longer_than_its_session(brokers, flow, role):
    victim = ROLES[role](brokers, flow)
    brokers.freeze(victim)
    frozen = Deadline.after(2 * SESSION_S)
    recovered_s = [flow.until_rows_flow()]
    frozen.wait(2 * SESSION_S)
    brokers.thaw(victim)
    brokers.wait_until_whole()
    recovered_s.append(flow.until_rows_flow())
    _told(f"{role}: broker {victim} frozen", flow, recovered_s)


@pytest.mark.chaos
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
@pytest.mark.parametrize("place", [0, 1])
def test_a_worker_is_killed_while_a_broker_is_away(brokers, flow, place):
    victim = ROLES["workers' group"](brokers, flow)
    brokers.kill(victim)
    flow.workers[place].kill()
    recovered_s = [flow.until_rows_flow()]
    flow.workers[place].start()
    brokers.start(victim)
    brokers.wait_until_whole()
    recovered_s.append(flow.until_rows_flow())
    _told(f"worker {place} and broker {victim} killed", flow, recovered_s)
