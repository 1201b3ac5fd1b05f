"""Writes to a person's terminal what others may have said: names, texts and errors of servers and records."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from connect.lib.printable import printable

if TYPE_CHECKING:
    from rich.text import Text


def echo(text: object = "", *, err: bool = False) -> None:
    """Write a line, in which nothing steers the terminal."""
    click.echo(printable(str(text)), err=err)


def coloured(text: str, colour: str | None) -> str:
    """Return a text in a colour, or as it is where the variable NO_COLOR is set (no-color.org)."""
    return text if os.environ.get("NO_COLOR") else click.style(text, fg=colour)


def echo_folded(text: str, indent: str) -> None:
    """Write an indented paragraph: on a terminal in lines of its width, into a pipe as one line, for `grep`.

    No word is broken, so that addresses can be copied.
    """
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    fold = textwrap.TextWrapper(
        width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
        expand_tabs=False, replace_whitespace=False,
    )  # fmt: skip
    for line in printable(text).splitlines():
        click.echo(fold.fill(line))


@contextmanager
def until_interrupted() -> Iterator[None]:
    """Let Ctrl-C end what is inside, as its user means it to end: that is no error."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo()


def cell(text: object, style: str = "") -> Text:
    """Return a table's cell that shows a text as it is: no markup counts, and nothing steers the terminal."""
    from rich.text import Text

    return Text(printable(str(text)), style=style)
