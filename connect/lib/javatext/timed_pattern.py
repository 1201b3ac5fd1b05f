"""Matches a regular expression within a time limit, and lets other threads run meanwhile."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import regex

MATCH_CPU_S: Final = 1.0
"""One match may take this many seconds of the process's CPU. A name of a topic, table or field takes microseconds."""
SIZE_MAX: Final = 300_000
"""A pattern may have this many characters once its repetitions are written out, as compiling does; that takes about 80
MB.

Only repetitions make a pattern that long, as a value of a configuration has at most 256 KiB.
"""
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(?P<count>\d+)[^}]*\}|.", re.DOTALL)


class PatternTimeoutError(Exception):
    """Says that a match took longer than its limit. The pattern is to blame, not the text."""


class TimedPattern:
    """Matches one regular expression. It is compiled at the first match, as checks of configurations never match."""

    def __init__(self, checked: re.Pattern[str], native: str | None = None) -> None:
        """Take `checked`, the expression as compiled by Python's `re`; matches have the syntax and meaning that it has
        there. `native` is the expression for the module `regex`, if it has what `re` does not know.
        """
        self._checked = checked
        self._native = checked.pattern if native is None else native

    @property
    def pattern(self) -> str:
        """Return the text of the expression."""
        return self._native

    def fullmatch(self, text: str) -> regex.Match[str] | None:
        """Return the match of the whole text; None if it does not match. PatternTimeoutError: it took too long."""
        try:
            return self._timed.fullmatch(text, timeout=MATCH_CPU_S, concurrent=True)
        except TimeoutError:
            raise self._too_slow(text) from None

    def search(self, text: str) -> regex.Match[str] | None:
        """Return the first match within the text; None if there is none. PatternTimeoutError: it took too long."""
        try:
            return self._timed.search(text, timeout=MATCH_CPU_S, concurrent=True)
        except TimeoutError:
            raise self._too_slow(text) from None

    @cached_property
    def _timed(self) -> regex.Pattern[str]:
        import regex

        flags = re.RegexFlag(self._checked.flags)
        return regex.compile(self._native, sum(getattr(regex, str(flag.name)) for flag in flags))

    def _too_slow(self, text: str) -> PatternTimeoutError:
        return PatternTimeoutError(
            f"The regular expression {self.pattern[:500]} was given up after {MATCH_CPU_S:g} s on {text[:250]!r}. "
            "Write it without repetitions of what repeats, such as (a|aa)+, and restart what failed."
        )


def written_out(pattern: str) -> int:
    """Return how many characters the pattern has when its counted repetitions are written out."""
    groups, last = [0], 0
    for token in _TOKEN.finditer(pattern):
        if token["count"]:
            groups[-1] += last * (int(token["count"]) - 1)
        elif token[0] == "(":
            groups.append(0)
        elif token[0] == ")" and len(groups) > 1:
            last = groups.pop()
            groups[-1] += last
        else:
            last = 1
            groups[-1] += 1
    return sum(groups)
