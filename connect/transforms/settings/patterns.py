"""Java's regular expressions and date patterns as settings: what is wrong with them. Pure."""

from __future__ import annotations

from connect.api.errors import ConfigProblem
from connect.lib.javatext.date_format import split_pattern
from connect.lib.javatext.regex import JavaPatternError, compile_pattern


def pattern_problem(pattern: str) -> str | None:
    """Why a date pattern is none, in Java's words."""
    try:
        split_pattern(pattern)
    except ValueError as error:
        return str(error)
    return None


def regex_problem(key: str, regex: str) -> ConfigProblem | None:
    """Why a regular expression is none, in the words of Kafka's RegexValidator."""
    try:
        compile_pattern(regex)
    except JavaPatternError as error:
        return ConfigProblem(key, f"Invalid value {regex} for configuration {key}: Invalid regex: {error}")
    return None
