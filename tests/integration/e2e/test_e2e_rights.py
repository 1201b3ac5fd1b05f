"""Workers log in at three brokers, and what they may do there changes while rows flow: each row is in S3 once."""

from __future__ import annotations

import re

import pytest
from confluent_kafka.admin import AdminClient
from e2e_brokers import ThreeBrokers
from e2e_orders import ROWS_PER_S
from e2e_pipeline import WAIT_S, Pipeline, pipeline
from e2e_secured import LOGIN, PASSWORD, Right, SecuredListener, add_login, grant, take_right
from e2e_worker import wait_for
from kafka_quotas import alter_quota

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1800)]

COMMAND = re.compile(r"kafka-acls\.sh .*")


def rights_of(name: str) -> dict[str, Right]:
    """What the workers and connectors of a pipeline need, by what it is for."""
    source, sink, orders = f"{name}-source", f"{name}-sink", f"{name}-orders"
    topics = (f"{name}-{kind}" for kind in ("configs", "offsets", "status", "slots"))
    return {
        **{f"{topic} {does}": Right("TOPIC", topic, does)
           for topic in topics for does in ("READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")},
        "topics made": Right("TOPIC", orders, "CREATE"),
        "rows written": Right("TOPIC", orders, "WRITE"),
        "rows read": Right("TOPIC", orders, "READ"),
        "workers' group": Right("GROUP", name, "READ"),
        "sink's group": Right("GROUP", f"connect-{sink}", "READ"),
        "transactions": Right("TRANSACTIONAL_ID", f"{name}-{source}-0", "WRITE"),
        "leader's transactions": Right("TRANSACTIONAL_ID", f"connect-cluster-{name}", "WRITE"),
    }  # fmt: skip


def told_of(flow: Pipeline, connector: str) -> str:
    status = flow.workers[0].status(connector)
    return " ".join(str(task.get("trace", "")) + str(task.get("reason", "")) for task in status.get("tasks", []))


LOST = {
    "rows written": "source", "rows read": "sink", "sink's group": "sink", "transactions": "source",
}  # fmt: skip
"""Maps the right that a test takes away to the connector that needs it."""


WORKERS_OWN = ("configs WRITE", "workers' group", "configs READ", "status WRITE", "offsets WRITE")
"""Names the rights that a test takes from the workers themselves."""
QUOTA = "producer_byte_rate"
QUOTA_BYTES_PER_S = 8000
"""The source writes 60 KB/s, and the workers a little."""


@pytest.fixture
def brokers(tmp_path, secured):
    with ThreeBrokers(tmp_path, secured=secured) as started:
        yield started


@pytest.fixture
def secured(tmp_path):
    return SecuredListener(tmp_path / "tls")


@pytest.fixture
def admin(brokers, unique):
    client = AdminClient({"bootstrap.servers": brokers.bootstrap_servers, "log_level": 0})
    add_login(client, list(rights_of(unique).values()))
    return client


@pytest.fixture
def flow(brokers, admin, s3, s3_bucket, tmp_path, unique):
    with pipeline(brokers, s3, s3_bucket, tmp_path, unique) as flowing:
        yield flowing


def test_each_right_that_is_taken_away_is_told_as_the_command_that_heals(flow, admin, unique):
    for lost, where in LOST.items():
        connector = f"{unique}-{where}"
        take_right(admin, rights_of(unique)[lost])
        found = wait_for(
            lambda connector=connector: COMMAND.search(told_of(flow, connector)),
            WAIT_S,
            lambda connector=connector, lost=lost: f"how to grant {lost}, told: {told_of(flow, connector)}",
        )
        said = told_of(flow, connector)
        assert PASSWORD not in said
        grant(admin, found[0])
        told(f"{lost}: {said.splitlines()[0]}; rows flowed after {flow.until_rows_flow():.1f} s")
    told(flow.check().partition(", failed")[0])


def logged(flow: Pipeline, since: list[int]) -> str:
    """What the workers' logs say since they had these sizes."""
    texts = (worker.log_path.read_bytes()[at:] for worker, at in zip(flow.workers, since, strict=True))
    return b"".join(texts).decode(errors="replace")


def test_each_right_that_workers_lose_is_told_as_the_command_that_heals(flow, admin, unique):
    rights = rights_of(unique)
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


def test_a_quota_that_is_set_and_lifted_slows_rows_and_loses_none(flow, brokers):
    alter_quota(brokers.bootstrap_servers, "users", LOGIN, "--add-config", f"{QUOTA}={QUOTA_BYTES_PER_S}")
    at = flow.writer.rows
    behind = wait_for(lambda: flow.behind() > 10 * ROWS_PER_S and flow.behind(), WAIT_S, "rows that are behind by 10 s")
    alter_quota(brokers.bootstrap_servers, "users", LOGIN, "--delete-config", QUOTA)
    told(f"{behind} rows behind after {flow.writer.rows - at}; rows flowed after {flow.until_rows_flow():.1f} s")
    seen = flow.check()
    told(seen)
    assert seen.endswith("failed: []")


def told(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - chaos reports how long rows stood
