"""Defines `connect reference`, which lists every setting, metric and command of what is installed here."""

from __future__ import annotations

import click


@click.command()
def reference() -> None:
    """Print the reference of keys, plug-ins, metrics and commands as Markdown, your own plug-ins included."""
    from connect.cli import main
    from connect.plugins.catalog import Catalog
    from connect.tools.reference.page import reference as page

    click.echo(page(Catalog.installed(), main), nl=False)
