"""Checks a question to a group's coordinator that was given up before the coordinator was found.

librdkafka ends the process on it, so each question is asked in one of its own, on a broker that is new: it makes the
topic of the groups, and with it the coordinator, when the first question comes.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from connect.tools.services import KafkaService

_ASK = """
    import sys
    from connect.api.errors import RetriableError
    from connect.api.records import TopicPartition
    from connect.kafka.admin.cluster_state import cluster_state
    from connect.kafka.admin.topics import TopicAdmin
    from connect.lib.deadline import Deadline

    settings = {"bootstrap.servers": sys.argv[1]}
    place, group = TopicPartition("there", 0), "late"
    admin = TopicAdmin(settings)
    admin.create("there", partitions=1, replication_factor=1, deadline=Deadline.after(60))
    questions = {
        "members": lambda deadline: admin.group_members(group, deadline),
        "deletion": lambda deadline: admin.delete_group(group, deadline),
        "offsets": lambda deadline: admin.alter_group_offsets(group, {place: 0}, deadline),
        "forgetting": lambda deadline: admin.alter_group_offsets(group, {place: None}, deadline),
        "rights": lambda deadline: cluster_state(settings, ["there"], [group], deadline),
        "calling": lambda deadline: admin.call_coordinator(group),
    }
    ask = questions[sys.argv[2]]
    try:
        ask(Deadline.after(0.1))
    except RetriableError as error:
        print("given up:", error)
    # The coordinator is found while this process and its clients live.
    ask(Deadline.after(120))
    admin.alter_group_offsets(group, {place: 0}, Deadline.after(120))
    print("alive")
"""


_BROKERS = 3
"""A process that the machine halts for a second gets its answer in the end, and then asks a next new broker."""


def _told(folder: Path, question: str) -> str:
    """Ask a new broker, and return what the process told. AssertionError: the process has ended before its end."""
    with KafkaService(data_folder=folder) as kafka:
        argv = [sys.executable, "-c", textwrap.dedent(_ASK), kafka.endpoint.bootstrap_servers, question]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["alive"]), (done.stdout, done.stderr)
    return done.stdout


@pytest.mark.parametrize("question", ["members", "deletion", "offsets", "forgetting"])
def test_a_coordinator_that_is_found_late_ends_no_process(tmp_path, question):
    told = (_told(tmp_path / f"kafka-{number}", question) for number in range(_BROKERS))
    assert any("given up:" in one for one in told)


@pytest.mark.parametrize("question", ["rights", "calling"])
def test_a_question_before_the_coordinator_is_found_ends_no_process(tmp_path, question):
    _told(tmp_path / "kafka", question)
