"""Reads the `--set key=value` options of commands."""

from __future__ import annotations

from collections.abc import Iterable


def parse_overrides(options: Iterable[str]) -> dict[str, str]:
    """Return the settings that `--set` options give, by key; of a key that is given twice the last value counts.

    ConfigError: an option has no `=` or no key.
    """
    from connect.api.errors import ConfigError

    settings = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set {option} names no key and value.", fix="Write it as --set key=value.")
        settings[key.strip()] = value.strip()
    return settings
