"""Holds the commands that a person types.

Each is loaded only when it is called, so that `connect --help` answers at once.
"""

from __future__ import annotations

import importlib
import keyword
from collections.abc import Mapping
from typing import Final

import click

from connect.lib.printable import printable

COMMANDS: Final[Mapping[str, str]] = {
    "agent": "Run a program beside a database: the changes in a Cassandra node's commit log.",
    "backfill": "Move a source into Kafka in bulk, each row once, and hand over to its connector.",
    "bigquery": "What a BigQuery sink costs a day, by each way to write.",
    "cassandra": "Rebuild Kafka's topics from Cassandra's tables.",
    "compact": "Few large files of many small ones that a sink wrote: objects, and files of Iceberg tables.",
    "connectors": "List, apply, edit, pause, restart, delete connectors; say why one does not move.",
    "context": "Names for clusters: add, use, list, remove.",
    "dev": "Start Kafka, a schema registry, S3 and a worker on loopback, kept between runs.",
    "dlq": "Dead letters: list, show, replay, purge.",
    "doctor": "What is wrong around a cluster, a connector's file, or a worker's file before it starts.",
    "demo": "Real data from a database through Kafka into S3, the worker killed half-way, every row verified.",
    "flow": "Sources, topics, sinks and backfills: what leads where, how fast, how far behind.",
    "import": "Bring connectors of a Java cluster here, with their offsets.",
    "init": "Begin a connector of your own: a project that works, with tests and a tutorial.",
    "login": "Get a token for a context from its issuer, by a browser on any machine.",
    "plugins": "The plug-ins of a cluster.",
    "poc": "Does this connector fit these data? A report on the user's own source.",
    "reference": "Print every key, metric and command of what is installed here, as Markdown.",
    "status": "A cluster at a glance; --watch keeps looking.",
    "top": "Every task now: rows a second, lag, CPU, memory, and why it does not move.",
    "validate": "Ask a cluster what is wrong with the configurations in files.",
    "worker": "Run a worker: REST API, connectors and tasks.",
}
"""Command -> its line in the help; the command is the function of that name in the module of that name here."""


EXTRAS: Final[Mapping[str, str]] = {"demo": "demo", "dev": "services", "poc": "poc"}
"""What a command needs beside a plain install."""


class LazyGroup(click.Group):
    """Loads a command's module when the command is called, not when it is listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load and return the command; None when there is none of this name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_") + ("_" if keyword.iskeyword(cmd_name) else "")
        module = importlib.import_module(f"{__name__}.{name}")
        command: click.Command = getattr(module, name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; one that lacks a package says which extra brings it."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            if type(error) is not click.ClickException:
                raise
            raise click.ClickException(printable(error.message)) from error
        except ModuleNotFoundError as error:
            name = ctx.invoked_subcommand or ""
            line = _pip_line(name, error.name or "")
            if line is None:
                raise
            raise click.ClickException(f"connect {name} lacks a package: {error}. Run: {line}") from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


def _pip_line(command: str, module: str) -> str | None:
    from connect.plugins.extras import PACKAGE, pip_line

    if module.split(".", maxsplit=1)[0] in {"connect", "connectors"}:
        return None
    return f"pip install '{PACKAGE}[{EXTRAS[command]}]'" if command in EXTRAS else pip_line(module)


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="connect-for-kafka", prog_name="connect")
def main() -> None:
    """Connect for Kafka: run connectors, backfill tables, try things out."""
    from connect.cli.shared.stop_signals import hear_lost_interrupts

    hear_lost_interrupts()
