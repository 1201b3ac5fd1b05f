"""Takes the traceback from protocol errors of clients in the log, as they say nothing about this worker."""

from __future__ import annotations

import logging
from typing import Final

from aiohttp import web
from aiohttp.client_exceptions import ClientPayloadError
from aiohttp.http_exceptions import HttpProcessingError

CLIENT_ERRORS: Final = (
    ConnectionError,
    HttpProcessingError,
    ClientPayloadError,
    web.RequestPayloadError,
)
"""These are raised if a request is no HTTP, or if its client goes away before it is read or answered."""


class _InOneLine(logging.Filter):
    """Takes the traceback from records about a client's errors."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, CLIENT_ERRORS):
            record.msg = f"{record.getMessage()}: {first_line(error)}"
            record.args, record.exc_info, record.exc_text = (), None, None
            record.levelno, record.levelname = logging.INFO, "INFO"
        return True


def client_errors_in_one_line() -> None:
    """Let the logger of aiohttp's server log such errors in one line. It may be called again."""
    logger = logging.getLogger("aiohttp.server")
    if not any(isinstance(known, _InOneLine) for known in logger.filters):
        logger.addFilter(_InOneLine())


def first_line(error: BaseException) -> str:
    """Return the type of an error and the first line of its text."""
    words = str(error).strip().splitlines()
    return f"{type(error).__name__}: {words[0]}" if words else type(error).__name__
