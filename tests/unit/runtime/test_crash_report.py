"""Checks what a process that dies leaves behind in shared memory."""

import os
import subprocess
import sys

import pytest

from connect.cluster.hosts.shared_memory import shared_memory
from connect.runtime.host.crash_report import REPORT_BYTES, Stages, stacks_in, stages_in
from connect.runtime.task.task_metrics import TaskFigures

DIES = """
import os, sys
from connect.runtime.host.crash_report import begin
stages = begin(int(sys.argv[1]))
stages.take(7).set("put")
done = stages.take(8)
done.set("poll")
stages.give_back(done)
def in_the_connector():
    os.abort() if sys.argv[2] == "abort" else os._exit(9)
in_the_connector()
"""


@pytest.fixture
def descriptor():
    descriptor = shared_memory("crash-report", REPORT_BYTES)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize(("how", "stacks"), [("abort", True), ("exit", False)])
def test_stages_outlive_any_end_and_stacks_one_by_signal(descriptor, how, stacks):
    ran = subprocess.run([sys.executable, "-c", DIES, str(descriptor), how], pass_fds=[descriptor], check=False)
    assert ran.returncode != 0
    assert stages_in(descriptor) == {7: "put"}
    assert ("in in_the_connector" in stacks_in(descriptor)) == stacks


def test_more_runs_than_slots_do_no_harm(descriptor):
    stages = Stages(descriptor)
    slots = [stages.take(run) for run in range(1, 600)]
    for slot in slots:
        slot.set("poll")
    assert len(stages_in(descriptor)) == 512
    for slot in slots:
        stages.give_back(slot)
    assert stages_in(descriptor) == {}


def test_a_stage_lasts_as_long_as_what_is_timed():
    heard = []
    with TaskFigures(heard.append).timed("poll_s_total"):
        assert heard == ["poll"]
    assert heard == ["poll", ""]
