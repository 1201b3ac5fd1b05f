"""Holds a source of numbered rows and a sink that notes its rows; each task leaves a mark with each step.

A run is one life of a task, from `open` on. Its mark is `<process id>-<ns since 1970>-<random>`. Every row of the
source has it, and so has each line in the file `<connector>-<task's share>` of the folder `presence`.
"""

import os
import secrets
import threading
import time
from pathlib import Path

from connect.api.config import ConnectorConfig, Int, String, key
from connect.api.plugin import Capability, Plugin, PluginKind, hookimpl
from connect.api.records import Batch, Column, SourcePosition
from connect.api.schema import STRING

ROWS = 5
"""A poll gives this many rows."""


class NumberedConfig(ConnectorConfig):
    presence: String = key("presence", doc="Folder where each task writes which run it is.")
    revision: Int = key("revision", 0, doc="Tells configurations apart.")
    topic: String = key("topic", "", doc="Where a source's rows go.")
    pause_ms: Int = key("pause.ms", 100, doc="Wait before each poll's rows.")
    linger_ms: Int = key("linger.ms", 0, doc="Each poll of a source takes so long, even if its task is told to end.")
    folder: String = key("folder", "", doc="Where a sink writes which rows it has got.")


class Numbered:
    """Holds what the source and the sink connector share."""

    def __init__(self, config):
        self._config = config

    def check(self, deadline):
        pass

    def task_configs(self, max_tasks):
        return [{**self._config.originals, "share": str(share)} for share in range(max_tasks)]


class NumberedSource(Numbered):
    def task(self, config):
        return NumberedSourceTask(self._config, config["share"])


class NumberedSink(Numbered):
    def task(self, config):
        return NumberedSinkTask(self._config, config["share"])


class Run:
    """Holds one life of a task."""

    def __init__(self, config, connector, share):
        self.mark = f"{os.getpid()}-{time.time_ns()}-{secrets.token_hex(4)}"
        self._file = Path(config.presence) / f"{connector}-{share}"

    def is_here(self):
        # One write of a few bytes is appended to the file, so no line of another process can come into it.
        with self._file.open("ab", buffering=0) as log:
            log.write(f"{self.mark}\n".encode())


class NumberedSourceTask:
    def __init__(self, config, share):
        self._config, self._share = config, share

    def open(self, ctx):
        self._run = Run(self._config, ctx.connector, self._share)
        stored = ctx.stored_offset({"share": self._share})
        self._next = stored["next"] if stored else 0
        self._run.is_here()

    def poll(self, deadline):
        self._run.is_here()
        if not deadline.wait(self._config.pause_ms / 1000):
            return None
        if self._config.linger_ms:
            threading.Event().wait(self._config.linger_ms / 1000)
            self._run.is_here()
        numbers = range(self._next, self._next + ROWS)
        rows = [f"{self._share} {number} {self._run.mark} {self._config.revision}" for number in numbers]
        self._next += ROWS
        position = SourcePosition({"share": self._share}, {"next": self._next})
        return Batch(self._config.topic, Column.from_rows(rows, STRING), position=position)

    def stored(self, positions):
        pass

    def close(self):
        pass


class NumberedSinkTask:
    def __init__(self, config, share):
        self._config, self._share = config, share
        self._lines, self._next = [], {}

    def open(self, ctx):
        self._run = Run(self._config, ctx.connector, self._share)
        self._file = Path(self._config.folder) / f"{ctx.connector}-{self._run.mark}"
        self._run.is_here()

    def assigned(self, partitions):
        pass

    def revoked(self, partitions):
        self._lines.clear()
        self._next.clear()

    def put(self, batch, deadline):
        self._run.is_here()
        at = batch.consumed.topic_partition
        self._lines += [f"{at.topic} {at.partition} {offset}\n" for offset in batch.consumed.offsets]
        self._next[at] = batch.consumed.next_offset

    def flush(self, deadline):
        self._run.is_here()
        with self._file.open("a") as out:
            out.writelines(self._lines)
        self._lines.clear()
        return dict(self._next)

    def close(self):
        pass


@hookimpl
def connect_plugins():
    return [
        Plugin(
            kind=PluginKind.SOURCE,
            name="test.NumberedSource",
            factory="numbered_plugin:NumberedSource",
            config=NumberedConfig,
            version="1.0",
            capabilities=frozenset({Capability.EXACTLY_ONCE, Capability.OFFSETS_ALTERABLE}),
        ),
        Plugin(
            kind=PluginKind.SINK,
            name="test.NumberedSink",
            factory="numbered_plugin:NumberedSink",
            config=NumberedConfig,
            version="1.0",
        ),
    ]
