"""Parses how the worker's file gives a role: `WHO` or `WHO on PATTERN`. Pure."""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

ALL: Final = "*"
EVERYONE: Final = "*"
GROUP: Final = "group:"
OIDC: Final = "oidc:"
CERTIFICATE: Final = "certificate:"
_ON: Final = " on "


class Grant(NamedTuple):
    """Holds to whom a role is given, and for which connectors."""

    who: str
    pattern: str

    @classmethod
    def parse(cls, text: str) -> Grant:
        """Parse a text. Raise ValueError if it names nobody, or no connectors."""
        who, found, pattern = text.rpartition(_ON)
        if not found:
            who, pattern = text, ALL
        who, pattern = who.strip(), pattern.strip()
        if not who or not pattern or who in {GROUP, OIDC, CERTIFICATE}:
            raise ValueError(
                f"{text!r} is not of the form WHO or WHO on PATTERN, where WHO is a user of rest.basic.auth.file, "
                f"{OIDC}USER, {GROUP}NAME, {CERTIFICATE}NAME or {EVERYONE}, and PATTERN fits names of connectors, as "
                "orders-*"
            )
        if who.endswith(" on") or who.startswith("on "):
            raise ValueError(f"{text!r} names nobody before `on`")
        return cls(who, pattern)

    def is_of(self, name: str, groups: Collection[str]) -> bool:
        """Return True if a user of this name and groups has the role. `*`, `?`, `[…]` fit names of certificates."""
        if name.startswith(CERTIFICATE) and self.who.startswith(CERTIFICATE):
            return fnmatchcase(name, self.who)
        return self.who in {EVERYONE, name} or self.who in {GROUP + group for group in groups}
