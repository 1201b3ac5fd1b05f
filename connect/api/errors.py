"""Defines errors, named by what happens next. A plug-in raises one of these; any other exception fails the task with
its trace.

| situation                                             | raise                |
| ----------------------------------------------------- | -------------------- |
| the other side is away for now; nothing was taken      | RetriableError       |
| some rows of a batch are bad, all the others are taken | RejectedRowsError    |
| a value does not fit its schema without loss           | SchemaError          |
| the configuration is wrong                             | ConfigError          |
| anything else that a person has to mend                | ConnectError         |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


class ConnectError(Exception):
    """Says why something failed, in a text that the failed task shows. `key` names the setting to change, `fix` says
    what to do.

    Neither text may hold a secret: both reach logs, REST answers and the status topic.
    """

    def __init__(self, message: str, *, key: str | None = None, fix: str | None = None) -> None:
        super().__init__(_sentence(message, fix))
        self.message = message
        self.key = key
        self.fix = fix


class RetriableError(ConnectError):
    """Says that nothing was taken or given; the same call is made again with backoff inside `errors.retry.timeout`.

    `waiting_for` is `budget` if nothing is wrong and the call succeeds as soon as a budget has room again. It is None
    if the side that was called is away, or refuses for now.
    """

    def __init__(
        self, message: str, *, key: str | None = None, fix: str | None = None, waiting_for: str | None = None
    ) -> None:
        super().__init__(message, key=key, fix=fix)
        self.waiting_for = waiting_for


class SchemaError(ConnectError):
    """Says that a value or type has no lossless form on the other side. `field` is the dotted path of the field that
    does not fit; it is empty if the whole value does not fit.
    """

    def __init__(self, message: str, *, field: str = "", key: str | None = None, fix: str | None = None) -> None:
        super().__init__(f"Field {field!r}: {message}" if field else message, key=key, fix=fix)
        self.field = field


class RejectedRowsError(ConnectError):
    """Says that some rows of the batch are bad; the rest of the batch was taken.

    `rows` maps the row's index in the batch to the reason. The framework dead-letters them or fails the task, as
    `errors.tolerance` says.
    """

    def __init__(self, rows: Mapping[int, Exception]) -> None:
        if not rows:
            raise ValueError("RejectedRowsError needs at least one row.")
        index, first = next(iter(rows.items()))
        super().__init__(f"{len(rows)} rows were rejected; row {index}: {type(first).__name__}: {first}")
        self.rows = dict(rows)


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """Tells what is wrong with one key.

    `message` is the whole sentence a person reads, Kafka's own wording where it has one.
    """

    key: str
    message: str


class ConfigError(ConnectError):
    """The configuration is wrong. `problems` lists every broken key, not only the first."""

    def __init__(self, problems: Iterable[ConfigProblem] | str, *, key: str = "", fix: str | None = None) -> None:
        if isinstance(problems, str):
            self.problems: tuple[ConfigProblem, ...] = (ConfigProblem(key, _sentence(problems, fix)),)
            super().__init__(problems, key=key or None, fix=fix)
            return
        self.problems = tuple(problems)
        if not self.problems:
            raise ValueError("ConfigError needs at least one problem.")
        super().__init__("\n".join(p.message for p in self.problems), key=self.problems[0].key or None, fix=fix)


def _sentence(message: str, fix: str | None) -> str:
    return message if fix is None else f"{message} {fix}"
