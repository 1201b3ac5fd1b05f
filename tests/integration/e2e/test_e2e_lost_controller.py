"""Kills one of three brokers that admin clients take for the controller: each client has to ask another one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from e2e_brokers import ThreeBrokers

from connect.kafka.admin.topics import TopicAdmin
from connect.lib.deadline import Deadline

pytestmark = pytest.mark.timeout(300)
CLIENTS = 12
"""A broker names any broker for the controller, so some of so many clients were told the one that is killed."""
ANSWER_S = 10.0


def test_a_client_leaves_a_controller_that_is_gone(tmp_path):
    with ThreeBrokers(tmp_path) as brokers:
        admins = [TopicAdmin({"bootstrap.servers": brokers.bootstrap_servers}) for _ in range(CLIENTS)]
        admins[0].create("t", partitions=2, deadline=Deadline.after(60))
        for admin in admins:
            assert admin.partition_counts(["t"], Deadline.after(60)) == {"t": 2}
        brokers.kill(2)
        with ThreadPoolExecutor(CLIENTS) as pool:
            answers = list(pool.map(lambda one: one.partition_counts(["t"], Deadline.after(ANSWER_S)), admins))
        assert answers == [{"t": 2}] * CLIENTS
