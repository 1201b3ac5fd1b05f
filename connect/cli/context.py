"""Defines `connect context`, which keeps names for clusters, so that commands know which one is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from connect.cli.shared.command_errors import one_line_errors
from connect.cli.shared.table import print_table
from connect.cli.shared.terminal import echo

if TYPE_CHECKING:
    from connect.client.contexts import Contexts


@click.group()
def context() -> None:
    """Manage names for clusters. Passwords and tokens stay in the environment, in variables that options name."""


@context.command()
@click.argument("name")
@click.argument("url")
@click.option("--user", default="", help="The user that the cluster's REST API asks for.")
@click.option("--password-env", default="", help="The environment variable that holds the password.")
@click.option("--token-env", default="", help="The variable that holds a bearer token, in place of user and password.")
@click.option("--ca-file", default="", help="PEM file of the authority that signed the workers' certificates.")
@click.option("--cert-file", default="", help="PEM file of a client certificate with its key, in place of a user.")
def add(name: str, url: str, **given: str) -> None:
    """Give a cluster a name; the first one is used from now on."""
    from connect.client.contexts import Contexts, contexts_file, read_contexts, write_contexts
    from connect.client.rest import check_address

    with one_line_errors():
        check_address(url)
    file = contexts_file()
    known = read_contexts(file)
    clusters = {**known.clusters, name: {"url": url, **{key: value for key, value in given.items() if value}}}
    write_contexts(file, Contexts(known.current or name, clusters))
    echo(f"Context {name}: {url}.")


@context.command()
@click.argument("name")
def use(name: str) -> None:
    """Speak to this cluster from now on."""
    from connect.client.contexts import Contexts, contexts_file, read_contexts, write_contexts

    file = contexts_file()
    known = read_contexts(file)
    _check_known(name, known)
    write_contexts(file, Contexts(name, known.clusters))
    echo(f"Commands speak to {name} ({known.clusters[name]['url']}) now.")


@context.command(name="list")
def list_contexts() -> None:
    """Every name; the one in use has a star."""
    from connect.client.contexts import contexts_file, read_contexts

    known = read_contexts(contexts_file())
    rows = [
        ("*" if n == known.current else "", n, one["url"], one.get("user")) for n, one in sorted(known.clusters.items())
    ]
    print_table(("", "NAME", "URL", "USER"), rows)


@context.command()
@click.argument("name")
def remove(name: str) -> None:
    """Forget a name."""
    from connect.client.contexts import Contexts, contexts_file, read_contexts, write_contexts

    file = contexts_file()
    known = read_contexts(file)
    _check_known(name, known)
    clusters = {other: one for other, one in known.clusters.items() if other != name}
    write_contexts(file, Contexts(None if known.current == name else known.current, clusters))
    echo(f"Context {name} is forgotten.")


def _check_known(name: str, known: Contexts) -> None:
    if name not in known.clusters:
        names = ", ".join(sorted(known.clusters)) or "none"
        raise click.ClickException(
            f"There is no context {name!r}; known: {names}. Add it: connect context add NAME URL."
        )
