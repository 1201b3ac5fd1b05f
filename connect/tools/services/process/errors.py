"""Names what can go wrong with an embedded service, each with what to do about it."""


class ServiceError(Exception):
    """Says that an embedded service is not available, or cannot be started or stopped. `fix` says what a person can
    do.
    """

    def __init__(self, message: str, *, fix: str) -> None:
        super().__init__(message, fix)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} {self.fix}"


class JavaNotFoundError(ServiceError):
    """Says that no Java of the needed version was found."""


class PythonNotFoundError(ServiceError):
    """Says that no Python of the version that a service needs was found."""


class ArtifactError(ServiceError):
    """Says that a program of the service is neither installed nor could it be fetched."""


class PortTakenError(ServiceError):
    """Says that another process listens on a port that the service needs."""

    def __init__(self, port: int, *, owner: str | None) -> None:
        by = f" by {owner}" if owner else ""
        super().__init__(
            f"Port {port} on 127.0.0.1 is already in use{by}.",
            fix="Stop that process, or start the service on another port.",
        )
        self.port = port


class ServiceStartError(ServiceError):
    """Says that the service was started, but ended or did not answer in time."""


class ServiceTimeoutError(ServiceError):
    """Says that a wait has reached its deadline."""
