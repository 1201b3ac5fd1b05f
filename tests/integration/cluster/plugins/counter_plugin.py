"""Holds a source that counts and a sink that forgets; both misbehave on request, as tests of a cluster need it."""

import ctypes
import os
import re
import threading
from pathlib import Path

from connect.api.config import Boolean, ConnectorConfig, Int, String, key
from connect.api.errors import ConnectError
from connect.api.plugin import Capability, Plugin, PluginKind, hookimpl
from connect.api.records import Batch, Column, SourcePosition
from connect.api.schema import INT64


class CounterConfig(ConnectorConfig):
    topic: String = key("topic", doc="Where the numbers go.")
    hang_on: String = key("hang.on", "", doc="Method that never returns.")
    hang_file: String = key("hang.file", "", doc="File that it makes then.")
    spins: Boolean = key("spins", False, doc="Its check computes for ever, and keeps the interpreter to itself.")
    check_eats_mib: Int = key("check.eats.mib", 0, doc="Its check takes so much memory, and goes on.")
    crash_file: String = key("crash.file", "", doc="The process ends as this file says, which it removes.")
    presence: String = key("presence", "", doc="Folder where each task writes who runs it.")
    transaction_size: Int = key("transaction.size", 0, doc="Rows of a transaction; every third one is aborted.")
    eat_file: String = key("eat.file", "", doc="The task takes 400 MiB when this file exists; it removes the file.")
    hold_file: String = key("hold.file", "", doc="poll keeps the interpreter to itself when this file exists.")
    pause_ms: Int = key("pause.ms", 20, doc="Wait between two numbers.")
    plans_nothing: Boolean = key("plans.nothing", False, doc="Its tasks cannot be planned.")
    rows: Int = key("rows", 1, doc="Rows of one number; when there are more, the key is who wrote them.")


CRASHES = {
    "": os.abort,
    "SIGABRT": os.abort,
    "SIGSEGV": lambda: ctypes.string_at(0),
    "exit code 3": lambda: os._exit(3),
}
"""Maps the text by which the worker describes a crash to the function that causes it."""


def hang(config, method):
    if config.hang_on == method:
        if config.hang_file:
            Path(config.hang_file).touch()
        threading.Event().wait()


class Counter:
    def __init__(self, config):
        self._config = config

    def check(self, deadline):
        self._hang("check")
        if self._config.check_eats_mib:
            self._eaten = bytearray(os.urandom(1) * (self._config.check_eats_mib * 2**20))
            threading.Event().wait()
        if self._config.spins:
            re.match("(?:a|a)*b", "a" * 100)

    def task_configs(self, max_tasks):
        self._hang("task_configs")
        if self._config.plans_nothing:
            raise ConnectError("The list of numbers is gone.")
        given = self._config.originals
        return [{**given, "task.share": str(n)} for n in range(max_tasks)]

    def task(self, config):
        return CounterTask(self._config, config["task.share"])

    def _hang(self, method):
        hang(self._config, method)


class CounterTask:
    def __init__(self, config, share):
        self._config, self._partition = config, {"share": share}

    def open(self, ctx):
        stored = ctx.stored_offset(self._partition)
        self._next = stored["next"] if stored else 0
        self._transactions = ctx.transactions
        self._hang("open")

    def poll(self, deadline):
        self._hang("poll")
        if self._config.presence:
            with (Path(self._config.presence) / self._partition["share"]).open("a") as log:
                log.write(f"{os.getpid()}\n")
        crash = self._config.crash_file
        if crash and Path(crash).exists():
            how = Path(crash).read_text()
            Path(crash).unlink()
            CRASHES[how]()
        hold = self._config.hold_file
        if hold and Path(hold).exists():
            Path(hold).unlink()
            ctypes.PyDLL(None).pause()  # unlike CDLL, this does not let other threads run
        eat = self._config.eat_file
        if eat and Path(eat).exists():
            Path(eat).unlink()
            self._eaten = bytearray(os.urandom(1) * (400 * 2**20))
        if not deadline.wait(self._config.pause_ms / 1000):
            return None
        values = Column.from_rows([self._next], INT64)
        self._next += 1
        self._end_transaction()
        position = SourcePosition(self._partition, {"next": self._next})
        if self._config.rows > 1:
            values = Column.from_rows([self._next] * self._config.rows, INT64)
            who = Column.from_rows([os.getpid()] * self._config.rows, INT64)
            return Batch(self._config.topic, values, keys=who, position=position)
        return Batch(self._config.topic, values, position=position)

    def _end_transaction(self):
        size = self._config.transaction_size
        if self._transactions is not None and self._next % size == 0:
            end = self._transactions.abort if self._next // size % 3 == 0 else self._transactions.commit
            end()

    def stored(self, positions):
        pass

    def close(self):
        self._hang("close")

    def _hang(self, method):
        hang(self._config, method)


class ForgetfulConfig(ConnectorConfig):
    hang_on: String = key("hang.on", "", doc="Method that never returns.")
    hang_file: String = key("hang.file", "", doc="File that it makes then.")


class Forgetful:
    def __init__(self, config):
        self._config = config

    def check(self, deadline):
        pass

    def task_configs(self, max_tasks):
        return [dict(self._config.originals)] * max_tasks

    def task(self, config):
        return ForgetfulTask(self._config)


class ForgetfulTask:
    def __init__(self, config):
        self._config, self._next = config, {}

    def open(self, ctx):
        pass

    def assigned(self, partitions):
        pass

    def revoked(self, partitions):
        self._next.clear()

    def put(self, batch, deadline):
        self._hang("put")
        self._next[batch.consumed.topic_partition] = batch.consumed.next_offset

    def flush(self, deadline):
        if self._next:
            self._hang("flush")
        return dict(self._next)

    def close(self):
        pass

    def _hang(self, method):
        hang(self._config, method)


@hookimpl
def connect_plugins():
    return [
        Plugin(
            kind=PluginKind.SINK,
            name="test.ForgetfulSinkConnector",
            factory="counter_plugin:Forgetful",
            config=ForgetfulConfig,
            version="1.0",
        ),
        Plugin(
            kind=PluginKind.SOURCE,
            name="test.CounterSourceConnector",
            factory="counter_plugin:Counter",
            config=CounterConfig,
            version="1.0",
            capabilities=frozenset({Capability.EXACTLY_ONCE, Capability.TRANSACTION_BOUNDARIES}),
        ),
    ]
