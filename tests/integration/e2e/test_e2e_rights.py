"""Workers log in at three brokers, and what they may do there changes while rows flow: each row is in S3 once."""

from __future__ import annotations

import re

import pytest
from confluent_kafka.admin import AdminClient
from e2e_brokers import ThreeBrokers
from e2e_pipeline import WAIT_S, Pipeline, pipeline
from e2e_secured import PASSWORD, Right, SecuredListener, add_login, grant, take_right
from e2e_worker import wait_for

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
"""What is taken away -> the connector that needs it."""


def test_each_right_that_is_taken_away_is_told_as_the_command_that_heals(tmp_path, s3, s3_bucket, unique):
    secured = SecuredListener(tmp_path / "tls")
    rights = rights_of(unique)
    with ThreeBrokers(tmp_path, secured=secured) as brokers:
        admin = AdminClient({"bootstrap.servers": brokers.bootstrap_servers, "log_level": 0})
        add_login(admin, list(rights.values()))
        with pipeline(brokers, s3, s3_bucket, tmp_path, unique) as flow:
            for lost, where in LOST.items():
                connector = f"{unique}-{where}"
                take_right(admin, rights[lost])
                found = wait_for(
                    lambda connector=connector: COMMAND.search(told_of(flow, connector)),
                    WAIT_S,
                    lambda connector=connector, lost=lost: f"how to grant {lost}, told: {told_of(flow, connector)}",
                )
                said = told_of(flow, connector)
                assert PASSWORD not in said
                grant(admin, found[0])
                told(f"{lost}: {said.splitlines()[0]}; rows flowed after {flow.until_rows_flow():.1f} s")
            told(flow.check())


def told(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - chaos reports how long rows stood
