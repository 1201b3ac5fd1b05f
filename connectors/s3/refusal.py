"""That a store refused access, which `examine` tells from all other errors."""

from __future__ import annotations

from connect.api.errors import ConfigError


class RefusedAccessError(ConfigError):
    """The store knows the account, which may not do this, or does not know it."""
