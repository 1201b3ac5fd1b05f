"""Describes who may use a service that asks for a login."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Login:
    """Holds the one user whom a service lets in."""

    user: str
    password: str = field(repr=False)
