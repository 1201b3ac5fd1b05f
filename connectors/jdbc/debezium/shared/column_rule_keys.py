"""Reads the keys of Debezium's rules for columns, and reports malformed ones. No driver, no I/O."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from connect.api.errors import ConfigProblem
from connect.lib.javatext.regex import JavaPatternError, compile_pattern

TRUNCATED: Final = re.compile(r"column\.truncate\.to\.(\d+)\.chars")
MASKED: Final = re.compile(r"column\.mask\.with\.(\d+)\.chars")
HASHED: Final = re.compile(r"column\.mask\.hash\.(v2\.)?([^.]+)\.with\.salt\.(.+)")
PREFIXES: Final = ("column.mask.", "column.truncate.to.")
"""Keys that begin with one of these are read here."""
MASK_CHARS_MAX: Final = 65_535
"""A mask has this many characters at most. It is in every row, so that one of millions of characters would use up the
memory of its task host.
"""
TRUNCATED_CHARS_MAX: Final = 2**31 - 1
"""This is the largest int of Java, and so the largest length that Debezium accepts."""
KEY: Final = re.compile(r"\s*([^\s:]+)\s*:\s*([^:\s]+)\s*")
"""Matches tables and the columns of their record key, in message.key.columns."""


def patterns(value: str) -> Sequence[str]:
    """Return the regular expressions that a value lists."""
    return [pattern.strip() for pattern in value.split(",") if pattern.strip()]


def hash_named(name: str) -> Callable[[bytes], hashlib._Hash] | None:
    """Return the constructor of a digest by the digest's name in Java, or None if it is not known."""
    own = name.lower().replace("sha3-", "sha3_").replace("sha-", "sha").replace("/", "_")
    if own not in hashlib.algorithms_available or own.startswith("shake"):
        return None
    return partial(hashlib.new, own, usedforsecurity=False)


def column_problems(given: Mapping[str, str]) -> Iterator[ConfigProblem]:
    """Yield a problem for each key that names an unknown rule or algorithm, or a wrong pattern."""
    for name, value in given.items():
        if name.startswith(PREFIXES):
            yield from _rule_problems(name, value)
    text = given.get("message.key.columns", "")
    for part in filter(str.strip, text.split(";")):
        if KEY.fullmatch(part) is None:
            yield ConfigProblem(
                "message.key.columns",
                f"message.key.columns must be tables and their columns, as shop.orders:region,number;shop.items:code, "
                f"and {part.strip()} is not.",
            )
        elif problem := _pattern_problem("message.key.columns", part.partition(":")[0].strip()):
            yield problem


def _rule_problems(name: str, value: str) -> Iterator[ConfigProblem]:
    hashed = HASHED.fullmatch(name)
    if hashed is not None and hash_named(hashed[2]) is None:
        yield ConfigProblem(name, f"{hashed[2]} is no algorithm of a hash that is known here: use SHA-256.")
    elif hashed is None and not (MASKED.fullmatch(name) or TRUNCATED.fullmatch(name)):
        yield ConfigProblem(
            name,
            f"{name} is no rule: use column.truncate.to.N.chars, column.mask.with.N.chars or "
            "column.mask.hash.v2.SHA-256.with.salt.SALT.",
        )
    else:
        yield from _length_problems(name)
    for pattern in patterns(value):
        if problem := _pattern_problem(name, pattern):
            yield problem


def _length_problems(name: str) -> Iterator[ConfigProblem]:
    if (mask := MASKED.fullmatch(name)) is not None and _is_above(mask[1], MASK_CHARS_MAX):
        yield ConfigProblem(name, f"{name}: a mask has at most {MASK_CHARS_MAX} characters, as it stands in every row.")
    if (cut := TRUNCATED.fullmatch(name)) is not None:
        if not cut[1].strip("0"):
            yield ConfigProblem(name, "column.truncate.to.N.chars keeps at least one character: use column.mask.with.")
        elif _is_above(cut[1], TRUNCATED_CHARS_MAX):
            yield ConfigProblem(name, f"{name}: at most {TRUNCATED_CHARS_MAX} characters are kept.")


def _is_above(digits: str, most: int) -> bool:
    """Return True if the number in a text is larger than `most`. Long texts are not read: int() refuses 4300 digits."""
    own = digits.lstrip("0")
    return len(own) > len(str(most)) or int(own or "0") > most


def _pattern_problem(name: str, pattern: str) -> ConfigProblem | None:
    try:
        compile_pattern(pattern)
    except JavaPatternError as error:
        text = f"Invalid value {pattern} for configuration {name}: not a regular expression: {error}"
        return ConfigProblem(name, text)
    return None
