"""Compiling a regular expression ends soon and takes little memory, whoever has sent it."""

from __future__ import annotations

import re
import time
import tracemalloc

import pytest

from connect.lib.javatext.pattern_bounds import LENGTH_MAX, WIDE_RANGES_MAX
from connect.lib.javatext.regex import JavaPatternError, compile_pattern

MOST_CPU_S = 2.0
"""Without bounds the quickest of the refused ones takes thrice as long."""
SENT_CHARS = 262_144
"""What a value of a configuration may have."""
HOSTILE = {
    "wide ranges": "[\u0100-\U0010ffff]" * (LENGTH_MAX // 5),
    "wide ranges in any case": "(?iu)" + "[\u0100-\uffff]" * (LENGTH_MAX // 5 - 1),
    "wide ranges as escapes": r"(?iu)" + r"[\u0100-\uffff]" * (LENGTH_MAX // 15 - 1),
    "wide ranges as code points": r"(?iu)" + r"[\x{100}-\x{ffff}]" * (LENGTH_MAX // 18 - 1),
    "a common beginning": "a" * (SENT_CHARS // 2 - 1) + "b|" + "a" * (SENT_CHARS // 2 - 2) + "c",
    "classes that grow": r"\h" * (SENT_CHARS // 2),
    "classes that grow, within the length": r"\h" * (LENGTH_MAX // 2),
}
TAKEN = {
    "many topics": "|".join(f"orders-{number:04}" for number in range(2000)),
    "ranges of languages": "[\u4e00-\u9fff\u3040-\u30ff]+" * (WIDE_RANGES_MAX // 2),
    "blanks": r"\h*" * 500,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_pattern_that_costs_too_much_is_refused_at_once_and_shown_in_part(name: str) -> None:
    began_s = time.process_time()
    with pytest.raises(JavaPatternError, match="are compiled") as told:
        compile_pattern(HOSTILE[name])
    assert time.process_time() - began_s < MOST_CPU_S
    assert len(str(told.value)) < 1000


@pytest.mark.parametrize("name", TAKEN)
def test_a_long_pattern_of_a_person_is_compiled(name: str) -> None:
    began_s = time.process_time()
    assert compile_pattern(TAKEN[name]).pattern
    assert time.process_time() - began_s < MOST_CPU_S


def test_long_patterns_are_not_kept() -> None:
    re.purge()
    tracemalloc.start()
    try:
        for number in range(4):
            compile_pattern(f"{number}" + "(a|b)?" * 2000)
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held_bytes < 400_000
