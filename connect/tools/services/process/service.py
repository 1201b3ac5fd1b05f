"""Defines the one interface of all embedded services."""

from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self, TypeVar

EndpointT_co = TypeVar("EndpointT_co", covariant=True)

START_DEADLINE_S: Final = 60.0


class Service(Protocol[EndpointT_co]):
    """A real service that runs on loopback. It ends with the process that started it, even if that process is killed.

    If a data folder is given, the data are kept there; otherwise they are in a temporary folder, which `close` removes.
    A stopped or killed service can be started again with the same ports and data.
    """

    @property
    def endpoint(self) -> EndpointT_co:
        """Return the address for clients. ServiceError: the service was never started."""

    @property
    def running(self) -> bool:
        """Tell if the service's process is alive; after `start` has returned, this means that it answers."""

    @property
    def log_path(self) -> Path:
        """Return the file with all output of the service; each start appends to it.

        ServiceError: the service was never started.
        """

    def prepare(self) -> None:
        """Fetch the service's programs if they are not here yet. `start` does so too, and does not count it in its
        deadline.
        """

    def start(self, deadline_s: float = START_DEADLINE_S) -> EndpointT_co:
        """Start the service if it does not run, and return once a client gets an answer.

        ServiceStartError, with the end of the log: it ended, or did not answer within `deadline_s` seconds.
        """

    def stop(self) -> None:
        """End the service gracefully, or by force if that takes too long. It is no error if it does not run."""

    def kill(self) -> None:
        """Kill the service with SIGKILL, as a crash would. It is no error if it does not run."""

    def close(self) -> None:
        """End the service for good, and remove a temporary data folder."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
