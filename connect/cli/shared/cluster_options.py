"""Holds what all commands that speak to a cluster have in common: where it is, and how its answers are shown."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from connect.cli.shared.terminal import echo

if TYPE_CHECKING:
    from connect.client.rest import Access, ConnectClient

CLUSTER_OPTIONS = (
    click.option("--url", help="A worker of the cluster; else CONNECT_URL, the context in use, http://localhost:8083."),
    click.option("--context", help="The name of a cluster, see `connect context`."),
)


def cluster_command(
    group: click.Group, *after: Callable[[Any], Any], name: str | None = None
) -> Callable[[Callable[..., None]], click.Command]:
    """Return a command whose function gets the cluster's client first; errors are one line and exit code 1."""

    def decorate(function: Callable[..., None]) -> click.Command:
        @functools.wraps(function)
        def run(url: str | None, context: str | None, **given: Any) -> None:
            from connect.api.errors import ConnectError

            try:
                function(client_of(url, context), **given)
            except ConnectError as error:
                raise click.ClickException(f"{error}{_fix(error, str(error))}") from error
            except BrokenPipeError:
                # Whoever reads has enough, as `head` has.
                sys.stderr.close()

        made = group.command(name)(run)
        return functools.reduce(lambda command, option: option(command), (*CLUSTER_OPTIONS, *after), made)

    return decorate


as_json = click.option("--json", "as_json", is_flag=True, help="JSON for machines.")
connector_name = click.argument("name")


def print_json(value: object) -> None:
    """Print a value as indented JSON."""
    echo(json.dumps(value, indent=2, ensure_ascii=False))


def _fix(error: Any, text: str) -> str:
    return f" {error.fix}" if getattr(error, "fix", None) and error.fix not in text else ""


def client_of(url: str | None, context: str | None) -> ConnectClient:
    """Return the client of the cluster that CLUSTER_OPTIONS name. ConnectError: there is no such context.

    A command that goes on for long has the login that there is now: a token is renewed when it is about to expire.
    """
    from connect.client.contexts import Contexts, chosen, chosen_context, contexts_file, read_contexts
    from connect.client.kept_logins import renewed_contexts
    from connect.client.rest import ConnectClient

    file = contexts_file()
    name = chosen_context(url, context, read_contexts(file), os.environ)

    def access_now() -> Access:
        contexts = renewed_contexts(file, name) if name else Contexts(None, {})
        return chosen(url, name, contexts, os.environ)

    return ConnectClient(access_now(), access_now=access_now)
