"""Stands in for the outside world of a herder: a topic in memory, task hosts that do as told."""

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import Future

from alone import Alone

from connect.api.errors import ConfigProblem, RetriableError
from connect.cluster.herder.herder import Herder
from connect.cluster.herder.reconcile import HerderDependencies
from connect.cluster.hosts.task_host import CrashReport
from connect.kafka.client.errors import FencedError
from connect.lib.deadline import Deadline
from connect.runtime.calls.connector_answers import too_many_tasks
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.task.messages import Call, CallResult, SetPaused, StartTask, StopTask, TaskBuilt, TaskState
from connect.runtime.task.state import State

WORKER = {
    "bootstrap.servers": "nowhere:1",
    "group.id": "g",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
    "key.converter": "J",
    "value.converter": "J",
    "task.shutdown.graceful.timeout.ms": "500",
    "auto.restart.backoff.initial.ms": "20",
}


def eventually(condition: Callable[[], object], timeout_s: float = 60.0) -> None:
    """Wait until the condition holds; AssertionError with its last value."""
    deadline = Deadline.after(timeout_s)
    while not (last := condition()):
        assert deadline.wait(0.005), f"still {last!r} after {timeout_s} s"


class MemoryTopic:
    """A topic in memory; every log of it sees every record, in order."""

    def __init__(self):
        self.records = []
        self.claimed_by = None
        self.refusal = lambda records: None
        self._logs = []
        self._lock = threading.RLock()

    def log(self, on_record):
        return MemoryLog(self, on_record)

    def append(self, key, value):
        with self._lock:
            self.records.append((key, value))
            for log in self._logs:
                log.catch_up()

    def arrive_unread(self, key, value):
        """A record that is in the topic, and that no log has polled yet."""
        self.records.append((key, value))

    def attach(self, log):
        with self._lock:
            self._logs.append(log)
            log.catch_up()

    def detach(self, log):
        with self._lock:
            if log in self._logs:
                self._logs.remove(log)

    def keys(self):
        return [key.decode() for key, _ in self.records]

    def last(self, wanted):
        return next((key, value) for key, value in reversed(self.records) if key.decode() == wanted)


class MemoryLog:
    def __init__(self, topic, on_record):
        self._topic, self._on_record, self._seen = topic, on_record, 0

    def start(self, deadline):
        self._topic.attach(self)

    def put(self, key, value):
        done = Future()
        self._topic.append(key, value)
        done.set_result(None)
        return done

    def put_all(self, records, transactional=False):
        done = Future()
        if (error := self._topic.refusal(records)) is not None:
            done.set_exception(error)
            return done
        if transactional and self._topic.claimed_by is not self:
            done.set_exception(FencedError("Another one has claimed the topic."))
            return done
        for key, value in records:
            self._topic.append(key, value)
        done.set_result(None)
        return done

    def give_up(self, reason):
        pass

    def claim(self, deadline):
        self._topic.claimed_by = self

    def read_to_end(self, deadline):
        self.catch_up()

    read_back = read_to_end

    def catch_up(self):
        while self._seen < len(self._topic.records):
            key, value = self._topic.records[self._seen]
            self._seen += 1
            self._on_record(key, value, 0, self._seen - 1, 0)

    def close(self):
        self._topic.detach(self)


class FakeHost:
    """Answers at once, unless `silent_on` names the kind of message."""

    crash_report = CrashReport({}, "")

    def __init__(self, name, listener, world):
        self.name, self._listener, self._world = name, listener, world
        self.pid = next(world.pids)
        self.heard, self.killed, self.closed, self.memory = [], None, False, 0

    def send(self, message):
        self.heard.append(message)
        if type(message) in self._world.silent_on:
            return
        match message:
            case StartTask():
                if self._world.build_error is not None:
                    self.say(
                        TaskState(message.connector, message.task, message.run, State.FAILED, self._world.build_error)
                    )
                    return
                self.say(TaskBuilt(message.connector, message.task, message.run))
                state = State.PAUSED if message.paused else State.RUNNING
                self.say(TaskState(message.connector, message.task, message.run, state))
            case StopTask():
                self.say(TaskState(message.connector, message.task, message.run, None))
            case SetPaused():
                state = State.PAUSED if message.paused else State.RUNNING
                self.say(TaskState(message.connector, message.task, message.run, state))
            case Call() if message.method == "alter_offsets" and self._world.answer_later is not None:
                self._world.answer_later(self, message)
            case Call():
                answer = self._world.answer(message)
                if answer is not None:
                    self.say(answer)

    def say(self, message):
        self._listener.said(self, message)

    def die(self, reason="was ended by signal SIGSEGV"):
        self._listener.ended(self, reason)

    def kill(self, reason):
        if self.killed is None:
            self.killed = reason
            self.die(reason)

    def abort(self, reason):
        self.kill(reason)

    def close(self):
        self.closed = True

    def resident_bytes(self):
        return self.memory


class Groups:
    """Consumer groups in memory."""

    def __init__(self):
        self.committed, self.busy, self.there = {}, False, {"t": 2}

    def topics(self, deadline):
        return dict(self.there)

    def group_offsets(self, group, deadline):
        return dict(self.committed.get(group, {}))

    def alter_group_offsets(self, group, offsets, deadline):
        self._refuse_if_busy()
        kept = {**self.committed.get(group, {}), **offsets}
        self.committed[group] = {tp: offset for tp, offset in kept.items() if offset is not None}

    def delete_group(self, group, deadline):
        self._refuse_if_busy()
        self.committed.pop(group, None)

    def _refuse_if_busy(self):
        if self.busy:
            raise RetriableError("The group still has members.")


class World:
    """A cluster's topics and the hosts of one worker."""

    def __init__(self):
        self.configs, self.statuses, self.offsets = MemoryTopic(), MemoryTopic(), MemoryTopic()
        self.groups = Groups()
        self.hosts, self.silent_on, self.levels = [], set(), []
        self.pids = itertools.count(100)
        self.calls = []
        self.alter_offsets = lambda call: CallResult(call.id, [False, []])
        self.answer_later = None
        self.fence = lambda call: CallResult(call.id)
        self.hide = lambda call: CallResult(call.id, call.positions)
        self.clean_up = lambda call: CallResult(call.id)
        self.stored = []
        self.build_error = None
        self.validate = lambda call: CallResult(call.id, {"refusal": "FailedRequestError", "message": "no"})
        self.plan_tasks = lambda config: [config] * int(config.get("tasks.max", "1"))

    def launch(self, name, listener):
        host = FakeHost(name, listener, self)
        self.hosts.append(host)
        return host

    def answer(self, call):
        self.calls.append(call)
        if call.method == "alter_offsets":
            return self.alter_offsets(call)
        if call.method == "fence":
            return self.fence(call)
        if call.method == "hide":
            return self.hide(call)
        if call.method == "clean_up":
            return self.clean_up(call)
        if call.method == "read_offsets":
            return CallResult(call.id, self.stored)
        if call.method == "validate":
            return self.validate(call)
        value = self.plan_tasks(dict(call.config)) if call.method == "task_configs" else None
        if isinstance(value, list) and (problem := too_many_tasks("s", call.config, len(value))):
            return CallResult(call.id, problems=[ConfigProblem("tasks.max", problem)], error=problem)
        return value if isinstance(value, CallResult) else CallResult(call.id, value)

    def say_call(self, result):
        """A late answer of the call host."""
        next(h for h in self.hosts if h.name == "call-host" and h.killed is None).say(result)

    def let_stop(self):
        """At the end of a test: tasks that were told to stop and said nothing have stopped."""
        silent, self.silent_on = StopTask in self.silent_on, set()
        for host in self.hosts if silent else ():
            for message in [m for m in host.heard if isinstance(m, StopTask)]:
                host.say(TaskState(message.connector, message.task, message.run, None))

    def task_hosts(self):
        return [h for h in self.hosts if h.name.startswith("task-host") and h.killed is None and not h.closed]

    def started(self):
        return [m for h in self.hosts for m in h.heard if isinstance(m, StartTask)]

    def kind(self, config):
        return {"Source": "source", "Sink": "sink"}.get(config.get("connector.class"), "unknown")

    def version(self, config):
        return "1.0"

    def task_class(self, config):
        return "SourceTask"

    def keeps_no_offsets(self, config):
        return config.get("connector.class") == "Source"

    def asked_addresses(self, config):
        return ""

    def cleans_up(self, config):
        return "slot" in config

    def herder(self, membership=lambda configs: Alone(), worker_id="me:1", **keys):
        herder = Herder(
            WorkerConfig.parse({**WORKER, **keys}),
            HerderDependencies(
                config_log=self.configs.log,
                status_log=self.statuses.log,
                offset_log=self.offsets.log,
                group_offsets=lambda config: self.groups,
                membership=membership,
                catalog=self,
                launch=self.launch,
                keep_call_host_s=90.0,
                host_count=2,
                set_log_level=lambda logger, level: self.levels.append((logger, level)),
                count_slots=lambda: 0,
            ),
        )
        herder.read(Deadline.after(60))
        herder.start(worker_id, f"http://{worker_id}", "cluster")
        return herder
