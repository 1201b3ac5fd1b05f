"""Names what can go wrong with an embedded service, each with what to do about it."""


class ServiceError(Exception):
    """An embedded service cannot be had, started or stopped; `fix` says what the person can do."""

    def __init__(self, message: str, *, fix: str) -> None:
        super().__init__(message, fix)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} {self.fix}"


class JavaNotFoundError(ServiceError):
    """No Java of the needed version was found."""


class PythonNotFoundError(ServiceError):
    """No Python of the version that a service needs was found."""


class ArtifactError(ServiceError):
    """A program that the service consists of is neither installed nor could it be fetched."""


class PortTakenError(ServiceError):
    """Another process listens on a port that the service needs."""

    def __init__(self, port: int, *, owner: str | None) -> None:
        by = f" by {owner}" if owner else ""
        super().__init__(
            f"Port {port} on 127.0.0.1 is already in use{by}.",
            fix="Stop that process, or start the service on another port.",
        )
        self.port = port


class ServiceStartError(ServiceError):
    """The service was started, but ended or did not answer in time."""


class ServiceTimeoutError(ServiceError):
    """A wait has reached its deadline."""
