"""Turns errors into text for statuses and logs. The caller hides secrets."""

from __future__ import annotations

import traceback


def trace_of(error: BaseException) -> str:
    """Return an error as text that begins with its cause, as Java's traces do; the Python traceback follows.

    The first line holds the error's type and words, and each further cause has a line that starts with "Caused by".
    """
    lines: list[str] = []
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        kind = type(cause)
        name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        lines.append(f"{'Caused by: ' if lines else ''}{name}: {cause}".rstrip(": "))
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return "\n".join([*lines, "".join(traceback.format_exception(error)).rstrip()])
