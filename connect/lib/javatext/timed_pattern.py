"""Matches a regular expression within a time limit, without holding the interpreter: other threads go on meanwhile."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import regex

MATCH_CPU_S: Final = 1.0
"""CPU seconds of the process that one match may take. A name of a topic, a table or a field takes microseconds."""
SIZE_MAX: Final = 300_000
"""Characters that a pattern may have when its repetitions are written out, as compiling does: about 80 MB.

Only repetitions get there, as a value of a configuration has at most 256 KiB.
"""
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(?P<count>\d+)[^}]*\}|.", re.DOTALL)


class PatternTimeoutError(Exception):
    """Says that a match took longer than its limit, by the fault of the pattern, whatever text it met."""


class TimedPattern:
    """Matches one regular expression, which it compiles at the first match, as checks of configurations never match."""

    def __init__(self, checked: re.Pattern[str]) -> None:
        """`checked`: the expression as Python's own library takes it, whose syntax and meaning it keeps."""
        self._checked = checked

    @property
    def pattern(self) -> str:
        """Return the text of the expression."""
        return self._checked.pattern

    def fullmatch(self, text: str) -> regex.Match[str] | None:
        """Return the match of the whole text, None where there is none. PatternTimeoutError: it took too long."""
        try:
            return self._timed.fullmatch(text, timeout=MATCH_CPU_S, concurrent=True)
        except TimeoutError:
            raise self._too_slow(text) from None

    def search(self, text: str) -> regex.Match[str] | None:
        """Return the first match within the text, None where there is none. PatternTimeoutError: it took too long."""
        try:
            return self._timed.search(text, timeout=MATCH_CPU_S, concurrent=True)
        except TimeoutError:
            raise self._too_slow(text) from None

    @cached_property
    def _timed(self) -> regex.Pattern[str]:
        import regex

        flags = re.RegexFlag(self._checked.flags)
        return regex.compile(self._checked.pattern, sum(getattr(regex, str(flag.name)) for flag in flags))

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
