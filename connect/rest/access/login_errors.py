"""Why credentials are not taken, in words for the client that sent them."""

from __future__ import annotations


class LoginError(Exception):
    """Credentials are wrong. The message may be read by anybody."""

    status = 401

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class IssuerAwayError(LoginError):
    """Nobody can tell if a token is right, as no key of its issuer was ever read."""

    status = 503


class TooManyLoginsError(LoginError):
    """An address has guessed too often, and waits."""

    status = 429

    def __init__(self, wait_s: float) -> None:
        """`wait_s`: for so long no password is tried."""
        super().__init__("Too many logins from this address have failed. Try again in a minute.")
        self.wait_s = wait_s
