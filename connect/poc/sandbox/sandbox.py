"""Provides the sandbox of an evaluation: a Kafka and a worker that end with it, however it ends."""

from __future__ import annotations

import itertools
import os
import secrets
import signal
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import psutil

from connect.client.rest import Access, ConnectClient
from connect.kafka.admin.topics import TopicAdmin
from connect.kafka.client.own_login import LOGIN_ADDRESSES
from connect.kafka.client.settings import admin_settings, consumer_settings
from connect.poc.sandbox.connector_runs import remove
from connect.tools.services import KafkaService, SchemaRegistryService
from connect.tools.services.login import Login
from connect.tools.services.worker import WorkerService

_SOON: Final = {
    # This is long enough for the figures of a killed task to vanish before those of the next one come.
    "auto.restart.backoff.initial.ms": "500", "auto.restart.backoff.max.ms": "1000",
    # A run is watched, and has to be seen as it is now.
    "metrics.sample.window.s": "0.2",
}  # fmt: skip
_PATIENT: Final = {"broker.session.timeout.ms": "60000"}
"""The broker is paused for three seconds. With the service's own session timeout, which is as long, it would be
fenced.
"""
REGISTRY_KEY: Final = ".schema.registry.url"


def with_registry(config: Mapping[str, str], url: str | None) -> dict[str, str]:
    """Return the configuration with this registry in place of any that it names; unchanged if `url` is None. Pure."""
    return {key: url if url is not None and key.endswith(REGISTRY_KEY) else value for key, value in config.items()}


def _own_login() -> Login:
    return Login("poc", secrets.token_urlsafe(32))


def _login_addresses(settings: Mapping[str, str], servers: str) -> dict[str, str]:
    """Return the setting by which a connector's overrides are judged as by a worker that has no login.

    No client of the sandbox goes to other brokers than its own: see `at_own_brokers`.
    """
    return {LOGIN_ADDRESSES: ",".join(filter(None, [servers, settings.get(LOGIN_ADDRESSES, "")]))}


class Sandbox:
    """Provides a Kafka, a worker and, if asked for, a schema registry. The thread that runs the evaluation owns it."""

    def __init__(self, settings: Mapping[str, str], *, has_registry: bool = False) -> None:
        """Take `settings`, further settings of the worker, such as converters.

        With `has_registry` the sandbox also has a schema registry, in which the schemas of records are registered.
        """
        self._has_registry = has_registry
        self.registry_url: str | None = None
        self.id = f"poc-{secrets.token_hex(4)}"
        self._settings = dict(settings)
        self._stack = ExitStack()
        self._names = itertools.count(1)

    def __enter__(self) -> Self:
        with ExitStack() as starting:
            # Other users of this machine must not see what the worker runs, nor have it run something: not by its REST
            # API, and not by the topics from which it takes its connectors.
            self.kafka = starting.enter_context(KafkaService(properties=_PATIENT, login=_own_login()))
            clients = self.kafka.endpoint.clients
            servers = clients["bootstrap.servers"]
            if self._has_registry:
                self.registry_url = starting.enter_context(SchemaRegistryService()).endpoint.url
                self._settings = with_registry(self._settings, self.registry_url)
            login = _own_login()
            settings = {**_SOON, **self._settings, **clients, **_login_addresses(self._settings, servers)}
            self.worker = WorkerService(servers, group_id=self.id, settings=settings, login=login)
            starting.enter_context(self.worker)
            self._stack = starting.pop_all()
        self.rest = ConnectClient(Access(self.worker.endpoint.url, login.user, login.password))
        self.admin = TopicAdmin(admin_settings(clients, {}, f"{self.id}-admin").properties)
        self.reading = {
            **consumer_settings(clients, {}, client_id=self.id, group_id=self.id).properties,
            "isolation.level": "read_committed",
        }
        self.reading.pop("consumer.path", None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def worker_properties(self) -> dict[str, str]:
        """Return the worker's properties, from which converters and clients outside of it are built."""
        return self.worker.properties

    def new_name(self, label: str) -> str:
        """Return a name that no earlier run had, so that what an earlier run left is not taken for a later one's."""
        return f"{self.id}-{label}-{next(self._names)}"

    def remove(self, name: str) -> None:
        """Delete a connector. It is no error if there is none."""
        remove(self.rest, name)

    def kill_task_hosts(self) -> int:
        """Kill every process that runs tasks with SIGKILL; return how many there were. The worker starts others."""
        pid = self.worker.pid
        if pid is None:
            return 0
        killed = 0
        with suppress(psutil.NoSuchProcess):
            # The worker's child makes the hosts, so they are its children's children.
            for host in [host for child in psutil.Process(pid).children() for host in child.children()]:
                with suppress(psutil.NoSuchProcess):
                    host.kill()
                    killed += 1
        return killed

    def pause_broker(self, pause_s: float) -> bool:
        """Stop the broker's process for `pause_s` seconds, as a garbage collection would. Return False if there is no
        process.
        """
        pid = self.kafka.pid
        if pid is None:
            return False
        os.kill(pid, signal.SIGSTOP)
        # The thread that watches the run waits for the broker, so another thread lets the broker go on.
        resume = threading.Timer(pause_s, self._resume_broker, (pid,))
        resume.daemon = True
        resume.start()
        return True

    def _resume_broker(self, pid: int) -> None:
        if self.kafka.pid == pid:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def log_path(self) -> Path:
        """Return the path of the worker's log."""
        return self.worker.log_path
