"""Defines `connect login`, which gets a token of an OpenID Connect issuer for the commands that speak to a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from connect.cli.shared.terminal import echo

if TYPE_CHECKING:
    from connect.client.logins import Invitation, Login


@click.command()
@click.option("--context", help="The name of a cluster, see `connect context`; else the one in use.")
@click.option("--issuer", help="Address of the issuer, as its tokens name it: rest.oidc.issuer of the workers.")
@click.option("--client-id", help="Id of a public client of the issuer that may use the device grant.")
@click.option(
    "--scope", help="Scopes to ask for; offline_access lets the token be renewed.  [openid profile offline_access]"
)
@click.option(
    "--parameter", "parameters", multiple=True, metavar="NAME=VALUE",
    help="What the issuer wants besides, as audience=connect (Auth0) or resource=urn:connect; may be repeated.",
)  # fmt: skip
@click.option("--forget", is_flag=True, help="Forget the tokens; where to log in stays known.")
def login(
    context: str | None,
    issuer: str | None,
    client_id: str | None,
    scope: str | None,
    parameters: Sequence[str],
    *,
    forget: bool,
) -> None:
    """Get a token for a context: shows an address and a code, and waits until somebody typed it in a browser.

    Issuer and client are kept with the context, so that `connect login` is enough the next time. The token is kept in
    the file of contexts, which its user alone can read, and is renewed when it ends.
    """
    from connect.api.errors import ConnectError
    from connect.client.contexts import contexts_file
    from connect.client.kept_logins import forget_tokens, keep_login
    from connect.client.logins import Issuer

    file = contexts_file()
    try:
        name, entry = _entry(file, context)
        if forget:
            echo(f"Logged out of {name}." if forget_tokens(file, name) else f"Nobody was logged in to {name}.")
            return
        given = {"issuer": issuer, "client_id": client_id, "scope": scope}
        asked = _asked(name, entry, **given, parameters=_named(parameters))
        keep_login(file, name, Issuer(asked).log_in(_invite))
    except ConnectError as error:
        raise click.ClickException(str(error)) from None
    echo(f"Logged in to {name}. The token is kept in {file}, which you alone can read.")


def _entry(file: Path, context: str | None) -> tuple[str, Mapping[str, str]]:
    """Return the name of the context and what is known of it. ConfigError: there is none."""
    from connect.client.contexts import chosen_context, read_contexts

    contexts = read_contexts(file)
    name = chosen_context(None, context, contexts, {})
    if name is None:
        raise click.UsageError("No context is in use. Give the cluster a name first: connect context add NAME URL")
    contexts.access(name, {})
    return name, contexts.clusters[name]


def _asked(
    name: str,
    entry: Mapping[str, str],
    *,
    issuer: str | None,
    client_id: str | None,
    scope: str | None,
    parameters: Mapping[str, str],
) -> Login:
    """Return what to ask the issuer for: what is given, else what was asked for the last time."""
    from connect.client.logins import USUAL_SCOPE, Login

    known = Login.of_context(entry)
    issuer, client_id = issuer or entry.get("issuer"), client_id or entry.get("client_id")
    if not issuer or not client_id:
        raise click.UsageError(f"Say --issuer and --client-id at the first login to {name}; they are kept.")
    last_scope, last_parameters = (known.scope, known.parameters) if known else (USUAL_SCOPE, None)
    return Login(issuer, client_id, scope or last_scope, parameters or last_parameters)


def _named(parameters: Sequence[str]) -> dict[str, str]:
    if wrong := [text for text in parameters if "=" not in text]:
        raise click.UsageError(f"--parameter {wrong[0]!r} is not of the form NAME=VALUE.")
    return dict(text.split("=", 1) for text in parameters)


def _invite(invitation: Invitation) -> None:
    echo(f"Open {invitation.url} in a browser on any machine, and type the code {invitation.code}")
    if invitation.complete_url:
        echo(f"Or open {invitation.complete_url}")
    echo(f"Waiting for {invitation.expires_in_s / 60:.0f} minutes; Ctrl-C gives up.")
