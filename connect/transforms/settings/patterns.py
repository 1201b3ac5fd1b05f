"""Tells what is wrong with Java's regular expressions and date patterns that settings hold. Pure."""

from __future__ import annotations

from connect.api.errors import ConfigProblem
from connect.lib.javatext.date_format import split_pattern
from connect.lib.javatext.regex import JavaPatternError, compile_pattern


def pattern_problem(pattern: str) -> str | None:
    """Return why a date pattern is not valid, in Java's words; None if it is valid."""
    try:
        split_pattern(pattern)
    except ValueError as error:
        return str(error)
    return None


def regex_problem(key: str, regex: str) -> ConfigProblem | None:
    """Return why a regular expression is not valid, in the words of Kafka's RegexValidator; None if it is valid."""
    try:
        compile_pattern(regex)
    except JavaPatternError as error:
        return ConfigProblem(key, f"Invalid value {regex} for configuration {key}: Invalid regex: {error}")
    return None
