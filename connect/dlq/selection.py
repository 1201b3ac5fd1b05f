"""Selects the dead letters that a person names. Pure: the time is passed in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from connect.api.errors import ConfigError
from connect.dlq.letter import Letter, Place
from connect.runtime.records.tolerance import Stage

_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])")
_PLACE: Final = re.compile(r"(?:(\d{1,10}):)?(\d{1,19})", re.ASCII)
_UNIT_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, slots=True)
class Selection:
    """Selects letters that meet all given conditions.

    `error` is a regular expression that is searched for in the error's class and message, in any case.
    """

    connector: str | None = None
    topic: str | None = None
    stage: str | None = None
    error: re.Pattern[str] | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    places: frozenset[Place] | None = None

    def matches(self, letter: Letter) -> bool:
        """Tell if the filters select this letter."""
        return (
            self.connector in {None, letter.connector}
            and self.topic in {None, letter.topic}
            and self.stage in {None, letter.stage}
            and (self.error is None or self.error.search(letter.error) is not None)
            and (self.places is None or letter.place in self.places)
            and self._in_time(letter.timestamp_ms)
        )

    def _in_time(self, at_ms: int | None) -> bool:
        if at_ms is None:
            return self.since_ms is None and self.until_ms is None
        return (self.since_ms is None or at_ms >= self.since_ms) and (self.until_ms is None or at_ms < self.until_ms)


def parse_error(text: str | None) -> re.Pattern[str] | None:
    """Return the pattern of `--error`; None if it is not given. ConfigError: it is no regular expression."""
    if text is None:
        return None
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise ConfigError(f"--error {text!r} is no regular expression: {error}.", key="--error") from error


def parse_stage(text: str | None) -> str | None:
    """Return the stage of `--stage`, which may be given in any case. ConfigError: there is no stage of that name."""
    if text is None or text.upper() in {*Stage}:
        return text and text.upper()
    raise ConfigError(f"--stage {text!r} is no stage. There are {', '.join(Stage)}.", key="--stage")


def parse_span(since: str | None, until: str | None, now_s: float) -> tuple[int | None, int | None]:
    """Return the times of `--since` and `--until`. ConfigError: no letter can be between them."""
    since_ms, until_ms = parse_moment("--since", since, now_s), parse_moment("--until", until, now_s)
    if since_ms is not None and until_ms is not None and since_ms >= until_ms:
        raise ConfigError(f"--since {since} is not before --until {until}: no letter is between them.", key="--since")
    return since_ms, until_ms


def parse_moment(option: str, text: str | None, now_s: float) -> int | None:
    """Return a time in milliseconds since 1970; it is given as "2h" (ago; s, m, h, d) or as an ISO date and time.

    A date and time without a zone is in UTC.
    """
    if text is None:
        return None
    if span := _SPAN.fullmatch(text.strip()):
        return int((now_s - float(span[1]) * _UNIT_S[span[2]]) * 1000)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(
            f"{option} {text!r} is no time.",
            key=option,
            fix="Write 30m, 2h or 7d for so long ago, or 2025-03-01T12:00.",
        ) from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)


def parse_place(text: str) -> Place:
    """Return the place that a text names as partition:offset, or as an offset of partition 0."""
    found = _PLACE.fullmatch(text)
    if found is None:
        raise ConfigError(f"{text!r} is no letter's place.", fix="Write partition:offset as `dlq list` shows it.")
    return Place(int(found[1] or 0), int(found[2]))
