"""Errors by which a store refused access, which `examine` tells from all other errors."""

from __future__ import annotations

from connect.api.errors import ConfigError


class RefusedAccessError(ConfigError):
    """The store knows the account, which may not do this, or does not know it."""


class WrongKeysError(RefusedAccessError):
    """The access keys are not those of an account: no right would mend that."""
