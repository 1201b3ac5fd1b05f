"""Runs a random history of a cluster: clients change connectors, faults happen, and checks compare the outcome."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from cluster_bed import TOPICS, Bed, Member
from cluster_evidence import Row, check_presence, check_sink, check_source, pid_of, pids_of_tasks
from cluster_faults import Fault, begin, freeze_alone, kill_tasks, leave
from cluster_model import ABSENT, Answer, Asked, Connector, Operation, PromiseError, Truth
from histories import History
from topic_reader import TopicReader

CONVERGES_S: Final = 120.0
"""The cluster must settle within this many seconds after the last fault, also on a machine that is busy with other
things.
"""
_MOVES_S: Final = 60.0
_KINDS: Final = {
    "create": 2, "save": 4, "pause": 3, "resume": 4, "stop": 3, "restart": 2, "delete": 1, "delete_all": 1,
    "reset_offsets": 2, "set_offsets": 2,
}  # fmt: skip
_THEMES: Final = {"frozen worker": 1, "rows under way": 1, "slow ends": 1, "new configuration": 1, "any": 4}
"""Maps what a history may be about to how often it is drawn. "any" draws from all requests and faults."""
_THEME_ROUNDS: Final = 3
_OF_THEME: Final = {
    "slow ends": {"linger.ms": "9000"},
    "rows under way": {"producer.override.linger.ms": "4000", "producer.override.shared": "false"},
}
"""Maps themes to settings of sources, by which their polls or their rows take so many milliseconds.

A client that tasks share would send rows at once.
"""
_SINK: Final = "sink"
_SOURCES: Final = {"once": TOPICS[0], "often": TOPICS[1]}


class ClusterHistory:
    """Drives a cluster and the model beside it."""

    def __init__(self, bed: Bed, history: History) -> None:
        self._bed, self._history, self._draw = bed, history, history.draw
        self._theme = history.theme(_THEMES)
        self._connectors = {name: Connector(name) for name in (*_SOURCES, _SINK)}
        self._faults: list[Fault] = []
        self._healed_ns = 0
        self._revision = 0
        self._readers = {topic: TopicReader(bed.bootstrap_servers, topic) for topic in TOPICS}

    def run(self, rounds: int) -> None:
        """Carry out the whole history. PromiseError: a promise is broken."""
        try:
            for name in self._connectors:
                self._do([(name, self._new("create", name), self._bed.members[0])])
            self._look()
            for _ in range(rounds if self._theme == "any" else min(rounds, _THEME_ROUNDS)):
                self._round_of_theme()
            self._heal(len(self._faults))
            self._finish()
        finally:
            self._heal(len(self._faults))

    # These methods are the steps.

    def _round_of_theme(self) -> None:
        if self._theme == "any":
            self._round()
            return
        for name in self._connectors:
            self._let_run(name)
        self._look()
        match self._theme:
            case "frozen worker":
                self._freeze_until_others_work()
            case "rows under way":
                self._kill_while_rows_wait()
            case "slow ends":
                self._begin(leave(self._draw.choice(self._bed.members), self._draw))
                self._heal(1)
                self._look()
                name = self._draw.choice(list(_SOURCES))
                for kind in ("delete_all", "create"):
                    self._do([(name, self._new(kind, name), self._draw.choice(self._bed.members))])
            case "new configuration":
                self._save_what_does_not_run()
        self._look()

    def _begin(self, fault: Fault) -> None:
        self._history.note("fault", fault=fault.name)
        self._faults.append(fault)

    def _freeze_until_others_work(self) -> None:
        """Freeze a worker without its hosts until another has one of its tasks, and for a moment more."""
        running = pids_of_tasks(self._bed.presence)
        trees = {member.number: {process.pid for process in member.tree()} for member in self._bed.members}
        member = self._draw.choice([one for one in self._bed.members if trees[one.number] & set(running.values())])
        its = trees[member.number]
        tasks = {name for name, pid in running.items() if pid in its}
        self._begin(freeze_alone(member))
        self._wait_for(
            f"another worker runs one of {sorted(tasks)}",
            lambda: any(pid not in its for name, pid in pids_of_tasks(self._bed.presence).items() if name in tasks),
        )
        threading.Event().wait(1)
        self._heal(1)

    def _kill_while_rows_wait(self) -> None:
        """Kill all tasks while rows of the sources wait in their clients."""
        threading.Event().wait(self._draw.choice((1.5, 3.0)))
        self._history.note("fault", fault="all tasks killed")
        kill_tasks(self._bed, pids_of_tasks(self._bed.presence).values())
        self._healed_ns = time.time_ns()

    def _save_what_does_not_run(self) -> None:
        """Give a connector that is paused or stopped a new configuration, and leave it time to run in spite of that."""
        name = self._draw.choice(list(self._connectors))
        for kind in (self._draw.choice(("pause", "stop")), "save"):
            self._do([(name, self._new(kind, name), self._draw.choice(self._bed.members))])
            self._look()
        threading.Event().wait(2)

    def _round(self) -> None:
        draw = self._draw
        if draw.random() < 0.6 and len(self._faults) < 2:
            fault = begin(self._bed, draw, self._faults)
            if fault is not None:
                self._begin(fault)
        names = draw.choices(list(self._connectors), k=draw.choice((1, 1, 2, 3)))
        kinds = draw.choices(list(_KINDS), weights=list(_KINDS.values()), k=len(names))
        asked = [
            (name, self._new(kind, name), draw.choice(self._bed.members))
            for name, kind in zip(names, kinds, strict=True)
        ]
        self._do(asked)
        threading.Event().wait(draw.choice((0.0, 0.5, 2.0)))
        if self._faults and draw.random() < 0.5:
            self._heal(1)
        if draw.random() < 0.15:
            self._heal(len(self._faults))
            self._look()

    def _new(self, kind: str, name: str) -> Operation:
        if kind in {"create", "save"}:
            self._revision += 1
            return Operation(kind, self._revision, self._draw.choice((1, 2, 3)))
        if kind == "set_offsets":
            if name == _SINK:
                return Operation("reset_offsets")
            return Operation(kind, start=self._draw.randrange(0, 100_000))
        return Operation(kind)

    def _do(self, together: Sequence[tuple[str, Operation, Member]]) -> None:
        """Send all requests at the same time, each by its own client."""
        for name, operation, member in together:
            self._history.note("ask", connector=name, operation=str(operation), worker=member.number)
        with ThreadPoolExecutor(len(together)) as clients:
            asking = [clients.submit(self._ask, *one) for one in together]
            answered = [(name, one.result(), member) for (name, _, member), one in zip(together, asking, strict=True)]
        for name in {name for name, _, _ in answered}:
            its = [asked for other, asked, _ in answered if other == name]
            for asked in its:
                self._history.note(
                    "answer", connector=name, operation=asked.operation.kind, answer=str(asked.answer)[:200]
                )
            self._connectors[name].take(its)
        if len(together) == 1 and not self._faults:
            self._read_own_write(*answered[0])

    def _ask(self, name: str, operation: Operation, member: Member) -> Asked:
        sent_ns = time.time_ns()
        answer = member.ask(*self._request(name, operation))
        return Asked(operation, answer, sent_ns, time.time_ns())

    def _request(self, name: str, operation: Operation) -> tuple[str, str, Any]:
        path = f"/connectors/{name}"
        match operation.kind:
            case "create":
                return "POST", "/connectors", {"name": name, "config": self._config(name, operation)}
            case "save":
                return "PUT", f"{path}/config", self._config(name, operation)
            case "pause" | "resume" | "stop":
                return "PUT", f"{path}/{operation.kind}", None
            case "restart":
                return "POST", f"{path}/restart?includeTasks=true", None
            case "delete":
                return "DELETE", path, None
            case "delete_all":
                return "DELETE", f"{path}?reset_offsets=true", None
            case "reset_offsets":
                return "DELETE", f"{path}/offsets", None
        positions = [{"partition": {"share": str(share)}, "offset": {"next": operation.start}} for share in range(3)]
        return "PATCH", f"{path}/offsets", {"offsets": positions}

    def _config(self, name: str, operation: Operation) -> dict[str, str]:
        own = {
            "presence": str(self._bed.presence),
            "revision": str(operation.revision),
            "tasks.max": str(operation.tasks),
        }
        if name == _SINK:
            return {"connector.class": "NumberedSink", "topics": ",".join(TOPICS), "folder": str(self._bed.sunk), **own}
        support = {"exactly.once.support": "required"} if name == "once" else {}
        slow = _OF_THEME.get(self._theme, {})
        return {"connector.class": "NumberedSource", "topic": _SOURCES[name], **own, **support, **slow}

    def _heal(self, count: int) -> None:
        for fault in self._faults[:count]:
            self._history.note("heal", fault=fault.name)
            fault.heal()
            self._healed_ns = time.time_ns()
        del self._faults[:count]

    # These methods look at the outcome.

    def _read_own_write(self, name: str, asked: Asked, member: Member) -> None:
        """Check that a client that changed a connector through a worker reads the change from that worker."""
        if asked.answer.is_known:
            seen = _config_of(member.ask("GET", f"/connectors/{name}/config"))
            allowed = {(truth.revision, truth.tasks) for truth in self._connectors[name].allowed()}
            if seen not in allowed:
                raise PromiseError(
                    f"{name}: {asked} was answered, and the same worker then shows {seen}, not {allowed}."
                )

    def _look(self) -> None:
        """Check, when no fault is open, that all becomes as it was asked and statuses are true. PromiseError: it does
        not.
        """
        while True:
            seen = self._converged()
            self._history.note("look", seen={name: tuple(truth) for name, truth in seen.items()})
            try:
                for name, truth in seen.items():
                    self._connectors[name].settle(truth, self._healed_ns)
                    self._check_truth(name, truth)
                break
            except PromiseError:
                # A late request may be carried out between the look at a status and the look at the task.
                if not any(connector.late for connector in self._connectors.values()) or self._seen() == seen:
                    raise
        check_presence(self._bed.presence)

    def _converged(self) -> Mapping[str, Truth]:
        until_s = time.monotonic() + CONVERGES_S
        while True:
            seen = self._seen()
            wrong = {name: one for name, one in seen.items() if isinstance(one, str)}
            truths = {name: one for name, one in seen.items() if isinstance(one, Truth)}
            for name, truth in truths.items():
                if truth not in self._connectors[name].allowed():
                    wrong[name] = f"{truth}, and may be only {sorted(self._connectors[name].allowed())}"
            if not wrong:
                return truths
            if time.monotonic() > until_s:
                raise PromiseError(f"After {CONVERGES_S} s without a fault: {json.dumps(wrong, indent=1)}")
            threading.Event().wait(0.5)

    def _seen(self) -> Mapping[str, Truth | str]:
        """Return what all workers agree on for each connector, or else what is wrong."""
        answers = [member.ask("GET", "/connectors?expand=status&expand=info") for member in self._bed.members]
        if any(answer.status != 200 for answer in answers):
            return dict.fromkeys(self._connectors, f"workers answer {[answer.status for answer in answers]}")
        told = [json.loads(answer.text) for answer in answers]
        return {name: self._agreed(name, [one.get(name) for one in told]) for name in self._connectors}

    def _agreed(self, name: str, told: Sequence[Any]) -> Truth | str:
        if any(one != told[0] for one in told):
            return f"workers differ: {told}"
        if told[0] is None:
            # As in Java a list with statuses leaves a connector out that has none yet.
            is_absent = self._bed.members[0].ask("GET", f"/connectors/{name}").status == 404
            return ABSENT if is_absent else "it has no status yet"
        status, config = told[0]["status"], told[0]["info"]["config"]
        state, tasks = status["connector"]["state"], status["tasks"]
        most = 0 if state == "STOPPED" else int(config["tasks.max"])
        # A paused connector has the tasks of its last run, and none after a stop, so no other number is expected.
        is_right = len(tasks) == most or state == "PAUSED"
        if not is_right or {task["state"] for task in tasks} - {state}:
            return f"{most} tasks should be {state}: {status}"
        strangers = {task["worker_id"] for task in tasks} - {member.id for member in self._bed.members}
        if strangers:
            return f"nobody is {strangers}: {status}"
        return Truth(int(config["revision"]), int(config["tasks.max"]), state)

    def _check_truth(self, name: str, truth: Truth) -> None:
        """Check that a connector runs where its status says and by its newest configuration, or does not run if it
        should not.
        """
        if truth.state == "RUNNING":
            for share in range(truth.tasks):
                self._wait_for(
                    f"{name}-{share} runs where its status says", lambda share=share: self._runs(name, share)
                )
            if name in _SOURCES:
                self._wait_for(f"rows of {name} of {truth}", lambda: self._newest_revision(name) == truth.revision)
        elif truth.state == "PAUSED" and name in _SOURCES and not self._is_still(name):
            raise PromiseError(f"{name} is PAUSED by its status, and a task of it took a step.")
        elif truth.state != "PAUSED":
            # Neither a deletion nor a stop waits for the tasks, which have some time to end.
            self._wait_for(f"no task of {name} takes a step any more", lambda: self._is_still(name))

    def _is_still(self, name: str) -> bool:
        before = self._steps(name)
        threading.Event().wait(0.7)
        return self._steps(name) == before

    def _runs(self, name: str, share: int) -> bool:
        file = self._bed.presence / f"{name}-{share}"
        if not file.exists():
            return False
        size, mark = file.stat().st_size, file.read_text().splitlines()[-1]
        threading.Event().wait(0.3)
        status = self._bed.members[0].ask("GET", f"/connectors/{name}/status")
        where = {task["id"]: task["worker_id"] for task in json.loads(status.text).get("tasks", ())}
        owner = next((member for member in self._bed.members if member.id == where.get(share)), None)
        is_there = owner is not None and pid_of(mark) in {process.pid for process in owner.tree()}
        is_quiet = name == _SINK or self._theme == "slow ends"
        return is_there and (is_quiet or file.stat().st_size > size)

    def _newest_revision(self, name: str) -> int:
        rows = self._readers[_SOURCES[name]].read()
        return Row.parse(rows[-1][1]).revision if rows else 0

    def _steps(self, name: str) -> Mapping[str, int]:
        return {file.name: file.stat().st_size for file in self._bed.presence.glob(f"{name}-*")}

    def _wait_for(self, what: str, condition: Any) -> None:
        until_s = time.monotonic() + _MOVES_S
        while not condition():
            if time.monotonic() > until_s:
                raise PromiseError(f"Not within {_MOVES_S} s: {what}. {self._seen()}")
            threading.Event().wait(0.2)

    def _finish(self) -> None:
        """Let everything run once more, stop the sources, and count the rows at both ends."""
        self._look()
        self._let_run(_SINK)
        for name in _SOURCES:
            self._let_run(name)
        self._look()
        for name in _SOURCES:
            self._do([(name, Operation("stop"), self._bed.members[0])])
        self._look()
        written = {topic: reader.read() for topic, reader in self._readers.items()}
        for name, topic in _SOURCES.items():
            rows = [Row.parse(text) for _, text in written[topic]]
            self._history.note("rows", connector=name, rows=len(rows))
            check_source(name, rows, self._connectors[name].asked, once=name == "once")
        offsets = {topic: [offset for offset, _ in rows] for topic, rows in written.items()}
        until_s = time.monotonic() + _MOVES_S
        while True:
            try:
                check_sink(self._bed.sunk, _SINK, offsets)
                break
            except PromiseError:
                if time.monotonic() > until_s:
                    raise
                threading.Event().wait(0.5)
        check_presence(self._bed.presence)

    def _let_run(self, name: str) -> None:
        self._do([(name, Operation("resume"), self._bed.members[0])])
        if self._connectors[name].asked[-1].answer.status == 404:
            self._do([(name, self._new("create", name), self._bed.members[0])])


def _config_of(answer: Answer) -> tuple[int, int]:
    if answer.status == 404:
        return 0, 0
    if answer.status != 200:
        raise PromiseError(f"A worker of a sound cluster answers {answer}.")
    config = json.loads(answer.text)
    return int(config["revision"]), int(config["tasks.max"])
