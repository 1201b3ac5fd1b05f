"""Writes to a person's terminal what others may have said: names, texts and errors of servers and records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from connect.lib.printable import printable

if TYPE_CHECKING:
    from rich.text import Text


def echo(text: object = "", *, err: bool = False) -> None:
    """Write a line, in which nothing steers the terminal."""
    click.echo(printable(str(text)), err=err)


def cell(text: object, style: str = "") -> Text:
    """Return a table's cell that shows a text as it is: no markup counts, and nothing steers the terminal."""
    from rich.text import Text

    return Text(printable(str(text)), style=style)
