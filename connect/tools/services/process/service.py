"""Defines the one interface of all embedded services."""

from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self, TypeVar

EndpointT_co = TypeVar("EndpointT_co", covariant=True)

START_DEADLINE_S: Final = 60.0


class Service(Protocol[EndpointT_co]):
    """A real service that runs on loopback. It dies with the process that started it, even if that is killed.

    With a data folder given, data is kept; else it lives in a temporary folder that `close` throws away. A stopped or
    killed service can be started again: same ports, same data.
    """

    @property
    def endpoint(self) -> EndpointT_co:
        """Return the address where clients connect; known from the first start on, ServiceError before."""

    @property
    def running(self) -> bool:
        """Tell if its process is alive; after `start` returned this means that it answers."""

    @property
    def log_path(self) -> Path:
        """Return the file that all its output goes to; starts append.

        Known from the first start on, ServiceError before.
        """

    def prepare(self) -> None:
        """Fetch what the service consists of if it is not here yet; `start` does so too, outside its deadline."""

    def start(self, deadline_s: float = START_DEADLINE_S) -> EndpointT_co:
        """Return once a client gets an answer, at once if it runs already.

        ServiceStartError with the end of the log if it ends or does not answer within `deadline_s` seconds.
        """

    def stop(self) -> None:
        """End it gracefully, by force if that takes too long; no error if it is not running."""

    def kill(self) -> None:
        """Kill it with SIGKILL, as a crash would; no error if it is not running."""

    def close(self) -> None:
        """End it for good and throw a temporary data folder away."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
