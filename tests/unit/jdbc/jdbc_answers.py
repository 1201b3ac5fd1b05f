"""A database that gives prepared answers, and its clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from connect.api.errors import ConnectError
from connectors.jdbc.dialects.known import dialect_named
from connectors.jdbc.settled.settled_time import Observation
from connectors.jdbc.values.java_zones import EPOCH, zone

START = datetime(2024, 5, 1, 12, tzinfo=UTC)
HOUR_US = 3_600_000_000
SECOND_US = 1_000_000
BERLIN = zone("Europe/Berlin")


def us(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


class Answers:
    """A database that gives prepared answers."""

    is_mariadb = True
    dialect = dialect_named("mariadb")

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)

    def rows(self, statement: object, _doing: str) -> Sequence[Any]:
        answer = self._next()
        return answer(str(statement)) if callable(answer) else answer

    mappings = rows

    def run(self, _statement: str, _doing: str) -> None: ...

    def scalar(self, _statement: object, _doing: str) -> Any:
        return self._next()

    def pin(self, _doing: str) -> tuple[str, bool]:
        answer: tuple[str, bool] = self._next()
        return answer

    def end_transaction(self) -> None: ...

    def told(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except ConnectError:
            return None

    def _next(self) -> Any:
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def seen(now_s: float, settled: float) -> Observation:
    return Observation(us(at(now_s)), us(at(settled)))
