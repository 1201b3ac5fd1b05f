"""Is the task host: a child process that runs tasks, each on its own thread, and reports their state to its worker.

It reads lines from one end of a socket pair. The first line holds the worker's settings as a JSON object, then
messages follow (`connect.runtime.task.messages`). The host ends when the worker is gone.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NoReturn, assert_never

from connect.api.connector import MonitoringConnector
from connect.api.errors import ConfigError, ConfigProblem, ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.runtime.calls.connector_answers import answer_connector_call
from connect.runtime.calls.group_calls import GROUP_CALLS, answer_group_call
from connect.runtime.calls.kafka_calls import KAFKA_CALLS, answer_kafka_call, stored_of
from connect.runtime.calls.sample_calls import answer_sample_call
from connect.runtime.host import crash_report
from connect.runtime.host.crash_report import Stages
from connect.runtime.host.run_reports import RunReports
from connect.runtime.host.task_run import TaskRun
from connect.runtime.parts.clients import Clients
from connect.runtime.parts.task_parts import build_connector
from connect.runtime.settings.config_secrets import secret_texts
from connect.runtime.settings.worker_config import WorkerConfig
from connect.runtime.source.shown_positions import shown
from connect.runtime.task.messages import (
    AsksToWrite,
    Call,
    CallResult,
    Figures,
    Heartbeat,
    HostReady,
    LoggersKnown,
    MayWrite,
    Message,
    SetLogLevel,
    SetPaused,
    StartTask,
    StopTask,
    TaskBuilt,
    TaskCondition,
    TaskState,
    TellFigures,
    TopicsUsed,
    WarmUp,
    decode,
    encode,
)
from connect.runtime.task.task_id import TaskId
from connect.runtime.task.traces import trace_of
from connect.runtime.topics.topic_rates import rates_now
from connect.telemetry.log_levels import LOG_LEVELS
from connect.telemetry.logs import set_up_logs
from connect.telemetry.secret_texts import SECRET_TEXTS

log = logging.getLogger(__name__)

START_TIMEOUT_S = 120.0
CALLERS_MAX = 256
"""So many calls may run at once: as many as REST has connections, so that a check that hangs delays no other check."""

Validate = Callable[[Clients, Mapping[str, str]], Any]
"""Answers a Call for validate. Those who start a host give this function."""


class Host:
    """Takes messages from the worker and runs what they ask for. Owned by the main thread, which reads the socket."""

    def __init__(
        self,
        channel: socket.socket,
        clients: Clients,
        stages: Stages,
        validate: Validate,
    ) -> None:
        self._channel = channel
        self._validate = validate
        self._stages = stages
        self._clients = clients
        self._send_lock = threading.Lock()  # Task threads, callers and the reporter all write to the one socket.
        self._runs: dict[TaskId, TaskRun] = {}
        self._reports = RunReports(self._runs, self._send)
        self._callers = ThreadPoolExecutor(CALLERS_MAX, thread_name_prefix="call")

    def serve(self, lines: Iterator[bytes]) -> None:
        """Work until the worker closes the socket."""
        self._send(HostReady(os.getpid()))
        threading.Thread(target=self._report, name="reporter", daemon=True).start()
        for line in lines:
            self._take(decode(line))

    def _take(self, message: Message) -> None:
        match message:
            case WarmUp():
                self._callers.submit(self._warm_up)
            case StartTask():
                started = TaskRun(message, self._clients, self._send, self._stages)
                self._runs[started.id] = started
                started.start()
            case StopTask() | SetPaused() | MayWrite():
                run = self._runs.get(TaskId(message.connector, message.task))
                if run is not None and run.run == message.run:
                    _tell(run, message)
            case TellFigures():
                self._reports.ask(message)
            case SetLogLevel():
                LOG_LEVELS.set(message.logger, message.level)
            case Call():
                self._callers.submit(self._call, message)
            case (
                HostReady()
                | TaskBuilt()
                | TaskState()
                | TaskCondition()
                | TopicsUsed()
                | AsksToWrite()
                | CallResult()
                | Figures()
                | Heartbeat()
                | LoggersKnown()
            ):
                log.warning("A worker does not send %s; ignored.", type(message).__name__)
            case _:
                assert_never(message)

    def _warm_up(self) -> None:
        try:
            self._clients.offsets.of_worker(Deadline.after(START_TIMEOUT_S))
        except ConnectError as error:
            log.info("Kafka was not reached before the first task: %s", error)

    def _call(self, call: Call) -> None:
        try:
            self._send(self._answer(call))
        except ConfigError as error:
            hide = SECRET_TEXTS.shown
            problems = tuple(ConfigProblem(p.key, hide(p.message)) for p in error.problems)
            self._send(CallResult(call.id, None, problems, hide(str(error)), hide(trace_of(error))))
        except Exception as error:  # noqa: BLE001 - whatever a plug-in raises is the caller's answer
            hide = SECRET_TEXTS.shown
            text = hide(str(error) if isinstance(error, ConnectError) else f"{type(error).__name__}: {error}")
            retriable = isinstance(error, RetriableError)
            self._send(CallResult(call.id, error=text, trace=hide(trace_of(error)), retriable=retriable))

    def _answer(self, call: Call) -> CallResult:
        if call.method == "validate":
            return CallResult(call.id, value=self._validate(self._clients, call.config))
        resolved = self._clients.configs.resolve_secretly(call.config)
        if call.method == "hide":
            return CallResult(call.id, value=shown(call.positions, SECRET_TEXTS.hide))
        if call.method in KAFKA_CALLS:
            return CallResult(call.id, value=answer_kafka_call(self._clients, call, resolved))
        if call.method in GROUP_CALLS:
            return CallResult(call.id, value=answer_group_call(self._clients, call, resolved))
        if call.method == "sample":
            return CallResult(call.id, value=answer_sample_call(self._clients, call, resolved))
        connector = build_connector(self._clients.catalog, resolved, self._clients.worker_properties)
        stored = partial(stored_of, self._clients, resolved)
        rates = partial(rates_now, self._clients.worker_properties)
        value = answer_connector_call(connector, call, resolved, stored, rates)
        again_s = connector.task_configs_interval_s if isinstance(connector, MonitoringConnector) else None
        return CallResult(call.id, value=value, again_s=again_s)

    def _send(self, message: Message) -> None:
        with self._send_lock:
            try:
                self._channel.sendall(encode(message))
            except OSError:
                # The worker is gone, so nobody reads this message. The main thread sees the end of file and ends.
                log.debug("The worker no longer listens.")

    def _report(self) -> NoReturn:
        while True:
            self._reports.report()


def _tell(run: TaskRun, message: StopTask | SetPaused | MayWrite) -> None:
    match message:
        case StopTask():
            run.stop()
        case SetPaused():
            run.set_paused(message.paused)
        case MayWrite():
            run.may_write(message)


def _lines(channel: socket.socket) -> Iterator[bytes]:
    with channel.makefile("rb") as stream:
        yield from stream


def run_host(
    channel: socket.socket,
    report: int,
    validate: Validate,
    catalog: Catalog | None = None,
) -> NoReturn:
    """Run a task host until its worker is gone.

    `report` is the descriptor of its crash report. `validate` answers calls of that method. `catalog` holds the
    installed plug-ins where they are known already.
    """
    stages = crash_report.begin(report)
    # Ctrl-C in a terminal reaches the whole process group; the worker decides what its hosts do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    set_up_logs()
    lines = _lines(channel)
    worker = WorkerConfig.parse(json.loads(next(lines)))
    clients = Clients(worker, catalog or Catalog.installed())
    SECRET_TEXTS.add(secret_texts(clients.catalog, worker.originals))
    Host(channel, clients, stages, validate).serve(lines)
    # Nothing may be flushed or committed for a worker that is gone: another worker may own these tasks already.
    os._exit(0)
