"""Formats log lines on stderr, one per event, as `key=value` for people or JSON for collectors, without secrets."""

from __future__ import annotations

import io
import logging
import os
import sys
from typing import Any, Final, Literal, TextIO

import structlog

from connect.lib.printable import printable
from connect.telemetry.secret_texts import SECRET_TEXTS

FORMAT_VARIABLE: Final = "CONNECT_LOG_FORMAT"
"""The environment variable that carries the format to the task hosts: `text` or `json`."""
LEVEL_VARIABLE: Final = "CONNECT_LOG_LEVEL"
"""The environment variable that carries the level at the start to the task hosts."""

Format = Literal["text", "json"]


def set_up_logs(log_format: Format | None = None, level: str | None = None) -> None:
    """Send the lines of `logging`, and those of a plug-in that has structlog, to stderr. `extra` becomes their fields.

    If they are not given, format and level are the environment's, else text and INFO.
    """
    if log_format is None:
        log_format = "json" if os.environ.get(FORMAT_VARIABLE) == "json" else "text"
    if level is None:
        level = os.environ.get(LEVEL_VARIABLE, "INFO")
    os.environ |= {FORMAT_VARIABLE: log_format, LEVEL_VARIABLE: level}
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    stream = logging.StreamHandler(sys.stderr)
    stream.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder(), *shared], processors=_rendering(log_format)
        )
    )
    logging.captureWarnings(True)  # else they are lines of another form
    root = logging.getLogger()
    root.handlers[:] = [stream]
    root.setLevel(level)


def _rendering(log_format: Format) -> list[structlog.typing.Processor]:
    strip = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    if log_format == "json":
        return [strip, structlog.processors.format_exc_info, structlog.processors.JSONRenderer(), _hidden]
    renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_printable_traceback)
    return [strip, _printable, renderer, _hidden]


def _printable(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Escape characters in the values that steer a terminal. The renderer adds its own colours after this."""
    return {name: printable(value) if isinstance(value, str) else value for name, value in event.items()}


def _printable_traceback(text: TextIO, error: structlog.typing.ExcInfo) -> None:
    plain = io.StringIO()
    structlog.dev.plain_traceback(plain, error)
    text.write(printable(plain.getvalue()))


def _hidden(_logger: object, _method: str, line: Any) -> str:
    return SECRET_TEXTS.hide(str(line))
