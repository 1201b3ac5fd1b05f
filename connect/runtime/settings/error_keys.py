"""Makes the keys of dead letters and tolerance limits. They are shown for sinks only, but sources may set them too."""

from __future__ import annotations

from typing import Any, Final

from connect.api.config import key

ERRORS: Final = "Error Handling"


def dlq_topic_key(*, internal: bool) -> Any:
    """Return the key `errors.deadletterqueue.topic.name`."""
    return key(
        "errors.deadletterqueue.topic.name",
        "",
        doc="Topic for bad rows; empty: none.",
        group=ERRORS,
        display_name="Dead Letter Queue Topic Name",
        internal=internal,
    )


def dlq_replication_factor_key(*, internal: bool) -> Any:
    """Return the key `errors.deadletterqueue.topic.replication.factor`."""
    return key(
        "errors.deadletterqueue.topic.replication.factor",
        3,
        doc="Replicas of a dead-letter topic made here.",
        group=ERRORS,
        display_name="Dead Letter Queue Topic Replication Factor",
        internal=internal,
    )


def dlq_headers_key(*, default: bool, internal: bool) -> Any:
    """Return the key `errors.deadletterqueue.context.headers.enable`."""
    return key(
        "errors.deadletterqueue.context.headers.enable",
        default,
        doc="Say in headers what went wrong.",
        group=ERRORS,
        display_name="Enable Error Context Headers",
        internal=internal,
    )


def limit_count_key() -> Any:
    """Return the key `errors.tolerance.limit.count`."""
    return key(
        "errors.tolerance.limit.count",
        None,
        doc="With errors.tolerance=all: the task fails when more rows than this are bad within a window; default: any.",
        group=ERRORS,
        internal=True,
    )


def limit_ratio_key() -> Any:
    """Return the key `errors.tolerance.limit.ratio`."""
    return key(
        "errors.tolerance.limit.ratio",
        None,
        doc="With errors.tolerance=all: the task fails when more than this share of a window's rows (0 to 1, of at"
        " least 100 rows) is bad; default: any.",
        group=ERRORS,
        internal=True,
    )


def limit_window_key() -> Any:
    """Return the key `errors.tolerance.limit.window.ms`."""
    return key(
        "errors.tolerance.limit.window.ms",
        60_000,
        doc="The window of errors.tolerance.limit.count and .ratio: the last so many milliseconds.",
        group=ERRORS,
        internal=True,
    )
