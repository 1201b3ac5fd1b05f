"""Holds what services of one process have in common: their folder, their ports, start until ready, and stop.

A new service is one small file with a subclass. It says which ports the service needs, which command runs it, where
clients connect, and how to tell that it answers.
"""

import atexit
import os
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, Self, TypeVar

from connect.tools.services.process.cache import remove_folder
from connect.tools.services.process.errors import ServiceError, ServiceStartError, ServiceTimeoutError
from connect.tools.services.process.polling import poll_until
from connect.tools.services.process.ports import free_ports, require_free
from connect.tools.services.process.process import Command, SupervisedProcess
from connect.tools.services.process.service import START_DEADLINE_S, Service

EndpointT = TypeVar("EndpointT")

_PROBE_TIMEOUT_S: Final = 2.0


class SupervisedService(Service[EndpointT], ABC):
    """Provides a `Service` that is one supervised process. It is owned by the thread that starts and stops it."""

    name: ClassVar[str]
    port_names: ClassVar[tuple[str, ...]]
    stop_grace_s: ClassVar[float] = 10.0

    def __init__(self, *, data_folder: Path | None = None, ports: Mapping[str, int] | None = None) -> None:
        """Take data folder and ports. Ports that `ports` does not name are chosen at the first start and then kept."""
        unknown = set(ports or ()) - set(self.port_names)
        if unknown:
            raise ValueError(f"{self.name} has no ports {sorted(unknown)}, only {list(self.port_names)}.")
        self._given_folder = data_folder
        self._given_ports = dict(ports or {})
        self._folder: Path | None = None
        self._ports: dict[str, int] = {}
        self._process: SupervisedProcess | None = None
        self._owner_pid = os.getpid()

    # Each service defines these.

    @abstractmethod
    def prepare(self) -> None: ...

    @abstractmethod
    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        """Write the service's configuration into the folder, and return the command that runs it."""

    @abstractmethod
    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> EndpointT: ...

    @abstractmethod
    def _answers(self, endpoint: EndpointT, timeout_s: float) -> bool:
        """Tell if a client gets an answer; it must return within about `timeout_s` seconds."""

    def _environ(self) -> Mapping[str, str]:
        """Return variables that the service's process gets besides ours."""
        return {}

    @property
    def _is_temporary(self) -> bool:
        """Tell if the data are removed at the end."""
        return self._given_folder is None

    def _leftovers(self, ports: Mapping[str, int]) -> Sequence[Path]:
        """Return files outside the data folder that a killed process leaves behind."""
        del ports
        return ()

    # All services share these.

    @property
    def endpoint(self) -> EndpointT:
        return self._endpoint(self._known_folder(), self._ports)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.running

    @property
    def pid(self) -> int | None:
        """Return the process id of the service itself, to measure or signal it; None while it does not run."""
        return self._process.pid if self._process is not None and self._process.running else None

    @property
    def log_path(self) -> Path:
        return self._known_folder() / f"{self.name}.log"

    def start(self, deadline_s: float = START_DEADLINE_S) -> EndpointT:
        if self.running:
            return self.endpoint
        self._forget_process()
        self.prepare()
        deadline = time.monotonic() + deadline_s
        folder, ports = self._ensure_folder(), self._choose_ports()
        require_free(ports.values())
        argv = self._command(folder, ports, deadline_s)
        temporary = () if self._given_folder else (folder,)
        leftovers = (*temporary, *self._leftovers(ports))
        self._process = SupervisedProcess(Command(argv, folder, self.log_path, self._environ(), leftovers))
        try:
            self._wait_until_ready(self._process, self.endpoint, deadline_s=deadline - time.monotonic())
        except BaseException:
            self.kill()
            raise
        return self.endpoint

    def stop(self, grace_s: float | None = None) -> None:
        """End the service gracefully, or by force after `grace_s` seconds; with None after the time that this service
        may need.
        """
        if self._process is not None:
            self._process.stop(self.stop_grace_s if grace_s is None else grace_s)
        self._forget_process()

    def kill(self) -> None:
        self._forget_process()

    def close(self) -> None:
        if os.getpid() != self._owner_pid:  # a forked copy of the owner must not end a process that it does not own
            return
        if self._given_folder is None:
            self.kill()  # a graceful end would only save data that are removed now
        else:
            self.stop()
        atexit.unregister(self.close)
        if self._folder is not None and self._given_folder is None:
            remove_folder(self._folder)
            self._folder = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _known_folder(self) -> Path:
        if self._folder is None:
            raise ServiceError(f"{self.name} was not started yet.", fix="Call start() first.")
        return self._folder

    def _ensure_folder(self) -> Path:
        if self._folder is None:
            folder = self._given_folder or Path(tempfile.mkdtemp(prefix=f"connect-{self.name}-"))
            folder.mkdir(parents=True, exist_ok=True)
            self._folder = folder.resolve()
            atexit.register(self.close)
        return self._folder

    def _choose_ports(self) -> Mapping[str, int]:
        if not self._ports:
            missing = [name for name in self.port_names if name not in self._given_ports]
            self._ports = {**self._given_ports, **dict(zip(missing, free_ports(len(missing)), strict=True))}
        return self._ports

    def _forget_process(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process = None
        for leftover in self._leftovers(self._ports):
            leftover.unlink(missing_ok=True)

    def _wait_until_ready(self, process: SupervisedProcess, endpoint: EndpointT, *, deadline_s: float) -> None:
        def answers() -> bool:
            if process.running:
                return self._answers(endpoint, _PROBE_TIMEOUT_S)
            raise ServiceStartError(
                f"{self.name} ended while it started. The end of its log:\n{process.log_tail()}\n",
                fix=f"See {self.log_path}.",
            )

        try:
            poll_until(answers, deadline_s=deadline_s, waiting_for=self.name, fix=f"See {self.log_path}.")
        except ServiceTimeoutError as error:
            raise ServiceStartError(
                f"{error.message} The end of its log:\n{process.log_tail()}\n", fix=error.fix
            ) from error
