"""A supervisor and calls of connectors over hosts that say nothing by themselves, with a clock that is moved."""

import itertools

from connect.api.errors import ConnectError
from connect.cluster.hosts.host_pool import HostLimits
from connect.cluster.hosts.host_watch import MemoryLimit
from connect.cluster.hosts.supervisor import Supervisor
from connect.cluster.hosts.task_host import CrashReport
from connect.cluster.loop.call_host import CallHostSettings
from connect.cluster.loop.connector_calls import ConnectorCalls
from connect.runtime.task.messages import Figures, StartTask, TellFigures


class Host:
    numbers = itertools.count(1)

    def __init__(self, name, listener):
        self.name, self.listener, self.pid = name, listener, next(self.numbers)
        self.heard, self.killed, self.aborted, self.closed, self.memory = [], None, None, False, 0
        self.crash_report = CrashReport({}, "")
        self.figures = None

    def send(self, message):
        self.heard.append(message)
        if isinstance(message, TellFigures) and self.figures is not None:
            self.listener.said(self, Figures(*self.figures, message.number))

    def kill(self, reason):
        self.killed = reason

    def abort(self, reason):
        self.aborted = reason

    def close(self):
        self.closed = True

    def resident_bytes(self):
        return self.memory


KEEP_CALL_HOST_S = 5.0


class Bench:
    """A supervisor with a clock that stands until it is moved, and hosts that say nothing by themselves."""

    def __init__(self, hosts=2, memory_bytes=0):
        self.now_s, self.hosts, self.changes, self.refusals = 0.0, [], [], 0
        limits = HostLimits(hosts, memory_bytes)
        self.supervisor = Supervisor(self.launch, limits, self.post, self, lambda: self.now_s)
        settings = CallHostSettings(
            self.launch, self.post, KEEP_CALL_HOST_S, MemoryLimit(memory_bytes), lambda: self.now_s
        )
        self.calls = ConnectorCalls("call-host", settings)

    def launch(self, name, listener):
        if self.refusals:
            self.refusals -= 1
            raise ConnectError(f"Task host {name} could not be started: no processes.")
        self.hosts.append(Host(name, listener))
        return self.hosts[-1]

    def post(self, description, step):
        step()

    def run_changed(self, change):
        self.changes.append(change)

    def topics_used(self, used):
        self.changes.append(used)

    def start(self, run, connector="c", isolated=False):
        self.supervisor.start(StartTask(connector, 0, run, "source", {}, {}), isolated=isolated)
        return next(h for h in self.hosts if any(isinstance(m, StartTask) and m.run == run for m in h.heard))

    def pass_s(self, seconds):
        self.now_s += seconds
        self.supervisor.watch.tick()
        self.calls.tick()
