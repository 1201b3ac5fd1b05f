"""Shows an error of a command that its user can mend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Show a ConnectError as one line on standard error and end with exit code 1, without a traceback.

    Used with `with`, or as the decorator of a function.
    """
    from connect.api.errors import ConnectError

    try:
        yield
    except ConnectError as error:
        raise click.ClickException(str(error)) from error
