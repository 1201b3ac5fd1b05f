"""Workers log in at three brokers, and what they may do there changes while rows flow: each row arrives once."""

from __future__ import annotations

import re

import pytest
from confluent_kafka.admin import AdminClient
from e2e_brokers import ThreeBrokers
from e2e_flow import WAIT_S, Flow, flowing
from e2e_secured import LOGIN, PASSWORD, SecuredListener, add_login, grant, take_right
from e2e_worker import wait_for
from kafka_quotas import alter_quota

from connect.lib.deadline import Deadline

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1800)]

COMMAND = re.compile(r"kafka-acls\.sh .*\S")


PARTS = ("s3", "bigquery", "copies", "backfill")
WORKERS_OWN = ("configs WRITE", "workers' group", "configs READ", "status WRITE", "offsets WRITE")
"""Names the rights that a test takes from the workers themselves."""
QUOTA = "producer_byte_rate"
QUOTA_BYTES_PER_ROW = 40
"""A row takes some 300, and the workers write a little, too."""


@pytest.fixture
def brokers(tmp_path, secured):
    with ThreeBrokers(tmp_path, secured=secured) as started:
        yield started


@pytest.fixture
def secured(tmp_path):
    return SecuredListener(tmp_path / "tls")


@pytest.fixture
def admin(brokers):
    return AdminClient({"bootstrap.servers": brokers.bootstrap_servers, "log_level": 0})


@pytest.fixture
def flow(request, brokers, secured, admin, make_flow):
    made = make_flow(getattr(request, "param", "s3"), brokers)
    add_login(admin, list(made.rights().values()), at=secured)
    with flowing(made):
        yield made


@pytest.mark.parametrize("flow", PARTS, indirect=True)
def test_each_right_that_is_taken_away_is_told_as_the_command_that_heals(flow, admin):
    for lost in flow.lost:
        where = flow.own_rights()[lost[0]][1]
        for name in lost:
            take_right(admin, flow.rights()[name])
        granted: set[str] = set()
        while len(granted) < len(lost):
            new = wait_for(
                lambda where=where, granted=granted: set(COMMAND.findall(flow.told_of(where))) - granted,
                WAIT_S,
                lambda where=where, lost=lost: f"how to grant {lost}, told: {flow.told_of(where)}",
            )
            assert PASSWORD not in flow.told_of(where)
            Deadline.after(flow.denied_s).wait(flow.denied_s)
            for command in new:
                grant(admin, command)
            granted |= new
        told(f"{', '.join(lost)}: {'; '.join(granted)}; rows flowed after {flow.until_rows_flow():.1f} s")
    told(flow.check().partition(", failed")[0])


def logged(flow: Flow, since: list[int]) -> str:
    """What the workers' logs say since they had these sizes."""
    texts = (worker.log_path.read_bytes()[at:] for worker, at in zip(flow.workers, since, strict=True))
    return b"".join(texts).decode(errors="replace")


def test_each_right_that_workers_lose_is_told_as_the_command_that_heals(flow, admin, unique):
    rights = flow.rights()
    for lost in WORKERS_OWN:
        right = rights[lost if lost in rights else f"{unique}-{lost}"]
        since = [worker.log_path.stat().st_size for worker in flow.workers]
        take_right(admin, right)
        changes = ("/pause", "/resume") if right.operation == "WRITE" else ()
        answered = " ".join(flow.workers[0].call("PUT", flow.sink, change).text for change in changes)
        command = rf"kafka-acls\.sh [^'\"\n]* --operation {right.operation.title()} [^'\"\n]*{re.escape(right.name)}"
        wanted = re.compile(command)
        found = wait_for(
            lambda wanted=wanted, since=since, answered=answered: wanted.search(answered + logged(flow, since)),
            WAIT_S,
            lambda right=right, since=since, answered=answered: (
                f"how to grant {right}:\n{answered}\n{logged(flow, since)[-5000:]}"
            ),
        )
        grant(admin, found[0])
        told(f"{lost}: {found[0]}; rows flowed after {flow.until_rows_flow():.1f} s")
    told(flow.check().partition(", failed")[0])


@pytest.mark.parametrize("flow", ["s3", "bigquery", "copies"], indirect=True)
def test_a_quota_that_is_set_and_lifted_slows_rows_and_loses_none(flow, brokers):
    alter_quota(
        brokers.bootstrap_servers, "users", LOGIN, "--add-config", f"{QUOTA}={QUOTA_BYTES_PER_ROW * flow.rows_per_s}"
    )
    at = flow.writer.rows
    behind = wait_for(
        lambda: flow.behind() > 10 * flow.rows_per_s and flow.behind(), WAIT_S, "rows that are behind by 10 s"
    )
    alter_quota(brokers.bootstrap_servers, "users", LOGIN, "--delete-config", QUOTA)
    told(f"{behind} rows behind after {flow.writer.rows - at}; rows flowed after {flow.until_rows_flow():.1f} s")
    seen = flow.check()
    told(seen)
    assert seen.endswith("failed: []")


def told(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - chaos reports how long rows stood
