"""Backfills over REST choose no code, no machine and no file of the worker, whoever wrote the job's record."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from connect.api.errors import ConfigError
from connect.backfill import service
from connect.backfill.chunk import Wish
from connect.backfill.job import Job, Jobs, JobState, JobWish
from connect.backfill.service import BackfillService, checked, runnable
from connect.backfill.spec import BackfillSpec
from connect.runtime.worker_config import WorkerConfig

SPEC = {"apiVersion": "backfill/v1", "name": "orders", "source": {"connector": "orders-source"}}
CHOSEN = {
    "conf": {"spark.driver.extraJavaOptions": "-agentpath:x.so"}, "packages": ["org.example:code:1"],
    "jars": ["http://example.org/code.jar"], "master": "spark://example.org:7077", "python_env": "code.tar.gz",
    "remote": "sc://example.org",
}  # fmt: skip

JSON = "org.apache.kafka.connect.json.JsonConverter"
WORKER = {
    "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "offset.storage.topic": "o",
    "status.storage.topic": "s", "key.converter": JSON, "value.converter": JSON,
}  # fmt: skip


class Children:
    """The processes of a worker, which remember what they were asked to run."""

    worker_id = "me:1"

    def __init__(self):
        self.asked = []
        self.running = set()

    def is_running(self, name):
        return name in self.running

    def forget_ended(self):
        pass

    def answer(self, work, spec, timeout_s):
        self.asked.append((work, spec))


@pytest.fixture
def children():
    return Children()


@pytest.fixture
def service_of(children, monkeypatch):
    """The service of a worker whose jobs topic holds one job, of this spec."""

    def made(spec):
        job = Job(spec, JobState.PAUSED, "r", 1, 1, 1, (), (), (), 0, 0)
        jobs = Jobs([job.record])
        monkeypatch.setattr(service, "JobStore", lambda *_: SimpleNamespace(jobs=lambda deadline: jobs))
        return BackfillService(WorkerConfig.parse(WORKER), children)

    return made


@pytest.mark.parametrize("key", CHOSEN)
@pytest.mark.parametrize("act", ["resume", "verify"])
def test_a_stored_job_chooses_no_code_and_no_machine(service_of, children, act, key):
    asked = service_of(SPEC | {"engine": {key: CHOSEN[key]}})
    with pytest.raises(ConfigError, match=rf"engine\.{key} of job orders"):
        getattr(asked, act)("orders", 1.0)
    assert children.asked == []


@pytest.mark.parametrize("act", ["resume", "verify"])
def test_a_stored_job_names_no_file(service_of, children, act):
    source = SPEC["source"] | {"config": "/etc/shadow"}
    getattr(service_of(SPEC | {"source": source, "engine": {"master": "local[2,4]"}}), act)("orders", 1.0)
    [(_, spec)] = children.asked
    assert "/etc/shadow" not in str(spec)
    assert BackfillSpec.model_validate(spec) == BackfillSpec.model_validate(SPEC | {"engine": {"master": "local[2,4]"}})


def test_a_worker_adopts_what_the_dead_ran_and_what_a_process_of_its_own_ran_that_died(children, monkeypatch):
    def job(name, worker, state=JobState.RUNNING, **engine):
        spec = SPEC | {"name": name, "engine": {"type": "local", **engine}}
        return Job(spec, state, "r", 1, 1, 1, (), (), (), 0, 0, worker=worker)

    found = [
        job("of-the-dead", "gone:1"), job("mine-and-died", "me:1"), job("mine", "me:1"), job("of-a-living", "you:1"),
        job("by-a-command", ""), job("paused", "gone:1", JobState.PAUSED), job("to-be-paused", "gone:1"),
        job("forged", "gone:1", jars=["http://example.org/code.jar"]), job("planned", "gone:1", JobState.PLANNED),
    ]  # fmt: skip
    jobs = Jobs([*(one.record for one in found), JobWish("to-be-paused", Wish.PAUSE).record])
    monkeypatch.setattr(service, "JobStore", lambda *_: SimpleNamespace(jobs=lambda deadline: jobs))
    children.running = {"mine"}
    backfills = BackfillService(WorkerConfig.parse(WORKER), children)
    backfills.adopt({"me:1", "you:1"}, 1.0)
    assert [spec["name"] for _, spec in children.asked] == ["of-the-dead", "mine-and-died", "planned"]
    children.asked.clear()
    backfills.adopt(None, 1.0)
    assert [spec["name"] for _, spec in children.asked] == ["mine-and-died"], "others are the leader's to give out"


def test_a_handover_is_of_the_same_spec():
    with pytest.raises(ConfigError, match=r"engine\.jars"):
        runnable(BackfillSpec.model_validate(SPEC | {"engine": {"jars": CHOSEN["jars"]}}))


def test_a_request_is_told_every_mistake_of_its_spec_in_the_words_of_a_file():
    given = {**SPEC, "name": "p 2", "engine": {"type": "locl", "jars": []}, "chunking": {"rows": -5, "row": 1}}
    with pytest.raises(ConfigError) as caught:
        checked(given)
    assert [problem.message for problem in caught.value.problems] == [
        "engine.jars: it runs code of its author's choice; give it in a file to `connect backfill run`.",
        "name: write a name of at most 150 letters, digits, '.', '_' and '-'; topics are named after it, not 'p 2'.",
        "engine.type: input should be 'spark' or 'local', not 'locl'.",
        "chunking.rows: input should be greater than or equal to 1, not -5.",
        "chunking.row: there is no such key; write rows.",
    ]
