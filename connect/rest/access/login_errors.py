"""Defines errors that say why credentials are refused, in words for the client that sent them."""

from __future__ import annotations


class LoginError(Exception):
    """Raised if credentials are wrong. Anybody may read the message."""

    status = 401

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class IssuerAwayError(LoginError):
    """Raised if a token cannot be judged, as no key of its issuer was ever read."""

    status = 503


class TooManyLoginsError(LoginError):
    """Raised if an address has sent too many wrong passwords and has to wait."""

    status = 429

    def __init__(self, wait_s: float) -> None:
        """Say that no password of the address is tried for `wait_s` seconds."""
        super().__init__("Too many logins from this address have failed. Try again in a minute.")
        self.wait_s = wait_s
