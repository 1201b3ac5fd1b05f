"""Log levels reach task hosts, those that run and those that start later."""

import logging

import pytest

from connect.cluster.hosts.host_logs import at_worker_levels, name_java_loggers
from connect.plugins.catalog import Catalog
from connect.runtime.task.messages import HostReady, LoggersKnown, SetLogLevel
from connect.telemetry.log_levels import LogLevels


class Host:
    def __init__(self, name, listener):
        self.name, self.listener, self.heard = name, listener, []

    def send(self, message):
        self.heard.append(message)


class Supervisor:
    def __init__(self):
        self.heard = []

    def said(self, host, message):
        self.heard.append((host.name, message))

    def ended(self, host, reason):
        self.heard.append((host.name, reason))


@pytest.fixture
def base(request):
    return f"host_logs.t{abs(hash(request.node.nodeid))}"


def test_running_and_later_hosts_get_what_counts(base):
    levels, supervisor = LogLevels(), Supervisor()
    launch = at_worker_levels(Host, levels)
    levels.set(f"{base}.a.b", "TRACE")
    levels.set(f"{base}.a", "DEBUG")
    levels.set(f"{base}.c", "WARN")
    host = launch("one", supervisor)
    counted = [SetLogLevel(f"{base}.a", "DEBUG"), SetLogLevel(f"{base}.c", "WARN")]
    assert host.heard == counted
    levels.set(f"{base}.d", "ERROR")
    assert host.heard == [*counted, SetLogLevel(f"{base}.d", "ERROR")]
    host.listener.ended(host, "ended")
    levels.set(f"{base}.e", "ERROR")
    assert len(host.heard) == 3
    assert supervisor.heard == [("one", "ended")]


def test_loggers_of_hosts_are_known_to_the_worker(base):
    levels, supervisor = LogLevels(), Supervisor()
    host = at_worker_levels(Host, levels)("one", supervisor)
    assert levels.get(f"{base}.theirs") is None
    host.listener.said(host, LoggersKnown(["root", f"{base}.theirs"]))
    host.listener.said(host, HostReady(1))
    assert levels.get(f"{base}.theirs") is not None
    assert levels.set(base, "DEBUG") == [base, f"{base}.theirs"]
    assert supervisor.heard == [("one", HostReady(1))]


def test_the_loggers_of_a_java_worker_stand_for_ours():
    levels, names = LogLevels(), ("connectors.file", "connectors.file.source")
    before = {name: logging.getLogger(name).level for name in names}
    try:
        name_java_loggers(levels, Catalog.installed())
        changed = levels.set("org.apache.kafka.connect.file", "DEBUG")
        assert {"org.apache.kafka.connect.file.FileStreamSourceConnector", *names} <= set(changed)
        assert logging.getLogger("connectors.file.source").getEffectiveLevel() == logging.DEBUG
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
