"""Models the roles of users on connectors as SECURITY.md describes them, apart from the product's code."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

LEVELS = ["viewer", "operator", "editor", "admin"]
PATTERNS = ["*", "orders-*", "payments-?", "[op]*-1", "ORDERS-*", "b\u00fccher-*", "a/*", "*%2F*", "**", "x?*", "new*"]
PASSWORD = "s3cret"


class Given(NamedTuple):
    """Holds one grant of the worker's file."""

    who: str
    level: int
    pattern: str


def fits(pattern: str, name: str) -> bool:
    """Tell if a name fits a pattern, by the plain reading of `*`, `?` and `[…]`."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(fits(pattern[1:], name[at:]) for at in range(len(name) + 1))
    if not name:
        return False
    if pattern[0] == "[":
        members, _, rest = pattern[1:].partition("]")
        return name[0] in members and fits(rest, name[1:])
    return pattern[0] in {"?", name[0]} and fits(pattern[1:], name[1:])


class Model:
    """Holds drawn users with their roles, and tells what each of them may do."""

    def __init__(self, draw: random.Random) -> None:
        self.users = ["root", "ada", "bob", "eve"]
        self.grants = [Given("root", 3, "*")]
        for _ in range(draw.randint(2, 6)):
            self.grants.append(
                Given(
                    draw.choice([*self.users[1:], "*"]), draw.randrange(4), draw.choice(PATTERNS[draw.random() > 0.1 :])
                )
            )

    def may(self, user: str, level: str, name: str) -> bool:
        least = LEVELS.index(level)
        return any(one.who in {user, "*"} and one.level >= least and fits(one.pattern, name) for one in self.grants)

    def keys(self, file: Path) -> dict[str, str]:
        file.write_text("".join(f"{user}={PASSWORD}\n" for user in self.users))
        roles = {
            f"rest.roles.{level}": ", ".join(
                f"{one.who} on {one.pattern}" for one in self.grants if one.level == number
            )
            for number, level in enumerate(LEVELS)
        }
        return {"rest.basic.auth.file": str(file), **{key: text for key, text in roles.items() if text}}
