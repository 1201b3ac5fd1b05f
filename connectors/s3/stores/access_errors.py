"""Defines the errors that say that a store refused access. `examine` tells them from all other errors."""

from __future__ import annotations

from connect.api.errors import ConfigError


class RefusedAccessError(ConfigError):
    """Says that the account lacks a right, or that the store does not know the account."""


class WrongKeysError(RefusedAccessError):
    """Says that the access keys do not belong to an account, so that giving it a right would not help."""
