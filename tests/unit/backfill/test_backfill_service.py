"""Backfills over REST choose no code, no machine and no file of the worker, whoever wrote the job's record."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import ClassVar

import pytest

from connect.api.errors import ConfigError, RetriableError
from connect.backfill import service
from connect.backfill.job.chunk import Signal
from connect.backfill.job.job import Job, Jobs, JobSignal
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.states import JobState, JobStateError
from connect.backfill.job.stored_spec import checked, runnable, told_to_requests
from connect.backfill.service import BackfillService
from connect.runtime.settings.worker_config import WorkerConfig

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
        self.failing = {}

    def is_running(self, name):
        return name in self.running

    def forget_ended(self):
        pass

    def answer(self, work, spec, timeout_s, **_):
        self.asked.append((work, spec))
        if spec["name"] in self.failing:
            raise self.failing[spec["name"]]


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
def test_a_stored_job_chooses_no_code_and_no_machine(service_of, children, key):
    asked = service_of(SPEC | {"engine": {key: CHOSEN[key]}})
    with pytest.raises(ConfigError, match=rf"engine\.{key} of job orders") as caught:
        asked.resume("orders", 1.0)
    assert "`connect backfill resume orders` with --engine" in str(caught.value)
    assert children.asked == []


@pytest.mark.parametrize(
    "master",
    ["local[1,4] --conf x=y", "local[1,4]\n", "local[1,4],spark://example.org:7077", "local[1", "local[a,4]",
     "local[1,4]x", "local[*,*]", "local[\u0661,4]", "local-cluster[1,1,1024]", "local[10000,4]", "LOCAL[1,4]"],
)  # fmt: skip
def test_a_stored_job_names_this_machine_and_nothing_behind_it(service_of, children, master):
    with pytest.raises(ConfigError, match=r"engine\.master of job orders"):
        service_of(SPEC | {"engine": {"master": master}}).resume("orders", 1.0)
    assert children.asked == []


@pytest.mark.parametrize("master", ["local[1,4]", "local[*,4]", "local[16,10]"])
def test_a_stored_job_may_use_this_machine(service_of, children, master):
    service_of(SPEC | {"engine": {"master": master}}).resume("orders", 1.0)
    assert len(children.asked) == 1


@pytest.mark.parametrize("key", CHOSEN)
def test_what_runs_no_engine_is_done_without_what_the_record_chose(service_of, children, key):
    service_of(SPEC | {"engine": {key: CHOSEN[key]}}).verify("orders", 1.0)
    [(_, spec)] = children.asked
    assert BackfillSpec.model_validate(spec) == BackfillSpec.model_validate(SPEC)


@pytest.mark.parametrize("act", ["resume", "verify"])
def test_a_stored_job_names_no_file(service_of, children, act):
    source = SPEC["source"] | {"config": "/etc/shadow"}
    getattr(service_of(SPEC | {"source": source, "engine": {"master": "local[2,4]"}}), act)("orders", 1.0)
    [(_, spec)] = children.asked
    assert "/etc/shadow" not in str(spec)
    assert BackfillSpec.model_validate(spec) == BackfillSpec.model_validate(SPEC | {"engine": {"master": "local[2,4]"}})


def job(name, worker, state=JobState.RUNNING, group="g", **engine):
    spec = SPEC | {"name": name, "engine": {"type": "local", **engine}}
    return Job(spec, state, "r", 1, 1, 1, (), (), (), 0, 0, worker=worker, group=group)


class Driver:
    """Remembers what a service asked it to finish."""

    finished: ClassVar[list[tuple[str, str]]] = []

    def __init__(self, spec, *_):
        self._name = spec.name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def rest(self, run):
        self.finished.append((self._name, f"paused {run}"))

    def cancel(self):
        self.finished.append((self._name, "cancelled"))


@pytest.fixture
def with_jobs(children, monkeypatch):
    """The service of a worker of the cluster g whose jobs topic has these records."""

    def made(*records):
        jobs = Jobs(records)
        monkeypatch.setattr(service, "JobStore", lambda *_: SimpleNamespace(jobs=lambda deadline: jobs))
        monkeypatch.setattr(service, "Driver", Driver)
        monkeypatch.setattr(Driver, "finished", [])
        return BackfillService(WorkerConfig.parse(WORKER), children)

    return made


def asked_for(children):
    return {spec["name"] for _, spec in children.asked}


def test_a_worker_adopts_what_the_dead_ran_and_what_a_process_of_its_own_ran_that_died(children, with_jobs):
    found = [
        job("of-the-dead", "gone:1"), job("mine-and-died", "me:1"), job("mine", "me:1"), job("of-a-living", "you:1"),
        job("by-a-command", ""), job("paused", "gone:1", JobState.PAUSED), job("to-be-paused", "gone:1"),
        job("forged", "gone:1", jars=["http://example.org/code.jar"]), job("planned", "gone:1", JobState.PLANNED),
        job("of-another-cluster", "gone:1", group="other"), job("of-nobody", "gone:1", group=""),
        job("mine-of-an-older-release", "me:1", group=""),
    ]  # fmt: skip
    children.running = {"mine"}
    found += [job("to-be-cancelled", "gone:1"), job("pauses-there", "you:1")]
    asked = {"to-be-paused": Signal.PAUSE, "to-be-cancelled": Signal.CANCEL, "pauses-there": Signal.PAUSE}
    signals = [JobSignal(name, signal).record for name, signal in asked.items()]
    backfills = with_jobs(*(one.record for one in found), *signals)
    assert backfills.adopt({"me:1", "you:1"}, 1.0) == {}
    mine = {"mine-and-died", "mine-of-an-older-release"}
    assert asked_for(children) == {"of-the-dead", "planned", *mine}
    assert sorted(Driver.finished) == [("to-be-cancelled", "cancelled"), ("to-be-paused", "paused r")]
    shown = {one["name"]: one["not_adopted"] for one in backfills.backfills()}
    assert "engine.jars of job forged" in shown["forged"]
    assert "of-another-cluster" not in shown
    children.asked.clear()
    backfills.adopt(None, 1.0)
    assert asked_for(children) == mine, "others are the leader's to give out"


def test_jobs_go_on_behind_one_that_cannot_and_behind_records_that_nobody_can_read(children, with_jobs):
    newer = asdict(replace(job("newer", "gone:1"), spec=SPEC | {"name": "newer", "warp": 9}))
    records = [
        job("fails", "gone:1").record, job("good", "gone:1").record, job("last", "gone:1").record,
        (b'{"job":"newer"}', json.dumps(newer).encode()), (b'{"job":"bare"}', b"{}"),
        (b'{"job":"forged"}', job("other", "gone:1").record[1]),
    ]  # fmt: skip
    children.failing = {"fails": RetriableError("no broker answers")}
    backfills = with_jobs(*records)
    assert backfills.adopt({"me:1"}, 1.0) == {"fails": "no broker answers"}
    assert asked_for(children) == {"fails", "good", "last"}
    shown = {one["name"]: one.get("unreadable") or one.get("not_adopted") for one in backfills.backfills()}
    assert (shown["fails"], shown["good"]) == ("no broker answers", None)
    assert "warp" in shown["newer"]
    assert "spec: Field required" in shown["bare"]
    assert "tells of job other" in shown["forged"]
    with pytest.raises(JobStateError, match="newer: a record of it cannot be read"):
        backfills.resume("newer", 1.0)


def test_a_stored_spec_is_shown_without_its_secrets(with_jobs):
    conf = {"spark.password": "Kx7-conf-9Qz", "spark.url": "http://u:Kx7-conf-9Qz@h/"}
    [shown] = with_jobs(job("with-conf", "", JobState.PAUSED, conf=conf).record).backfills()
    assert shown["spec"]["engine"]["conf"] == {"spark.password": "[hidden]", "spark.url": "http://u:[hidden]@h/"}


def test_what_cannot_be_read_is_not_shown_where_it_is_of_another_cluster(with_jobs):
    texts = {group: json.dumps({"group": group}).encode() for group in ("g", "other")}
    backfills = with_jobs(*((json.dumps({"job": f"of-{group}"}).encode(), text) for group, text in texts.items()))
    assert [one["name"] for one in backfills.backfills()] == ["of-g"]


@pytest.mark.parametrize("act", ["backfill", "chunks", "pause", "cancel"])
def test_a_job_of_another_cluster_is_refused_with_its_name(with_jobs, act):
    with pytest.raises(JobStateError, match=r"theirs belongs to the cluster with group\.id=other.*group\.id=g"):
        getattr(with_jobs(job("theirs", "gone:1", group="other").record), act)("theirs")


def test_a_request_names_no_jobs_topic_that_no_worker_looks_at():
    assert (
        checked(SPEC | {"state": {"jobs_topic": "connect-backfill-jobs"}}).state.jobs_topic == "connect-backfill-jobs"
    )
    with pytest.raises(
        ConfigError, match=r"state\.jobs_topic: workers see the jobs of topic connect-backfill-jobs alone"
    ):
        checked(SPEC | {"state": {"jobs_topic": "elsewhere"}})


def test_what_a_stored_engine_chose_is_shown_without_secrets_and_quoted_for_a_shell():
    conf = {"spark.hadoop.fs.s3a.secret.key": "hunter2", "spark.jars": "'; touch /tmp/x; '"}
    with pytest.raises(ConfigError) as caught:
        runnable(BackfillSpec.model_validate(SPEC | {"engine": {"conf": conf}}), by="`connect backfill resume orders`")
    text = str(caught.value)
    assert "hunter2" not in text
    given = shlex.split(text[text.index("--engine") :])
    assert json.loads(given[1])["conf"] == {
        "spark.hadoop.fs.s3a.secret.key": "[hidden]",
        "spark.jars": conf["spark.jars"],
    }


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("No room. Give it another folder (conf: spark.local.dir).", "engine.conf"),
        ("Executors lack a package: write engine: {python_env: env.tar.gz}.", "engine.python_env"),
        ("A jar cannot be had: see engine.packages, engine.jars.", "engine.packages or engine.jars"),
        ("Spark needs Java 17 or later; or use engine: {type: local}.", None),
        ("Table shop.orders does not exist. The master: none.", None),
    ],
)
def test_a_fix_that_no_request_may_choose_is_told_with_the_way(text, keys):
    way = f" No request may give {keys}: write it in a file for `connect backfill run`." if keys else ""
    assert told_to_requests(text) == text + way


OR_BY_FILE = "leave it out, or give the spec in a file to `connect backfill run`."
OWN_MACHINE = f"Spark runs on the machine of the worker that is asked; {OR_BY_FILE}"


@pytest.mark.parametrize("master", ["local[2]", "local", "local[2,4]", "spark://example.org:7077", 7])
def test_a_request_that_names_a_master_is_told_once_to_leave_it_out(master):
    with pytest.raises(ConfigError) as caught:
        checked(SPEC | {"engine": {"master": master}})
    assert str(caught.value) == f"engine.master: {OWN_MACHINE}"


def test_no_fix_of_a_request_is_a_key_that_requests_may_not_say():
    named = {"connector": "orders-source", "config": 7, "confi": "orders.json"}
    with pytest.raises(ConfigError) as caught:
        checked(SPEC | {"source": named, "engine": {"masterr": "local[2,4]", "remote": "h:1", "conf": {"a": 1}}})
    stopped = 'create the connector by POST /connectors with "initial_state": "STOPPED"'
    assert [problem.message for problem in caught.value.problems] == [
        f"engine.conf: no request brings code or settings of Spark; {OR_BY_FILE}",
        f"engine.remote: {OWN_MACHINE}",
        f"source.config: a request names no file; {stopped}; {OR_BY_FILE}",
        "source.confi: there is no such key; there are connector, offsets.",
        "engine.masterr: there is no such key; there are type, processes.",
    ]


def test_a_request_is_told_every_mistake_of_its_spec_in_the_words_of_a_file():
    given = {**SPEC, "name": "p 2", "engine": {"type": "locl", "jars": []}, "chunking": {"rows": -5, "row": 1}}
    with pytest.raises(ConfigError) as caught:
        checked(given)
    assert [problem.message for problem in caught.value.problems] == [
        f"engine.jars: no request brings code or settings of Spark; {OR_BY_FILE}",
        "name: write a name of at most 150 letters, digits, '.', '_' and '-'; topics are named after it, not 'p 2'.",
        "engine.type: input should be 'spark' or 'local', not 'locl'.",
        "chunking.rows: input should be greater than or equal to 1, not -5.",
        "chunking.row: there is no such key; write rows.",
    ]
