"""Defines the options of a command that runs until it is told to stop and logs meanwhile."""

from collections.abc import Callable
from typing import Any

import click


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--log-format` and `--log-level`."""
    with_level = click.option(
        "--log-level", type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"]), default="INFO", show_default=True,
        help="The least level that is logged.",
    )(command)  # fmt: skip
    return click.option(
        "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
        help="text for people, json for log collectors: one object a line.",
    )(with_level)  # fmt: skip
