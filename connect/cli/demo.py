"""`connect demo` shows the whole product on real data in one command."""

from __future__ import annotations

import sys

import click

from connect.cli.shared.terminal import coloured


@click.command()
@click.option("--kill/--no-kill", default=True, help="Kill the worker with kill -9 half-way (default: yes).")
@click.option("--seed", type=int, default=None, help="Kill at other moments, drawn from this number.")
@click.option("--exit", "leave", is_flag=True, help="End after the verdict instead of staying up.")
@click.option("--rows", type=click.IntRange(1), default=None, help="Load only so many flights (default: all 336,776).")
@click.option(
    "--with", "names", default="", metavar="NAMES",
    help="Databases that the flights go into besides S3, comma-separated: bigquery, cassandra.",
)  # fmt: skip
def demo(kill: bool, seed: int | None, leave: bool, rows: int | None, names: str) -> None:
    """Move real data from a database through Apache Kafka into S3, kill the worker half-way, and verify every row."""
    from rich.console import Console

    from connect.api.errors import ConnectError
    from connect.cli.shared.stop_signals import interrupt_once
    from connect.tools.demo.run import DemoPlan, kill_moments, run
    from connect.tools.demo.targets import targets_of
    from connect.tools.services import ServiceError

    console = Console()
    # Asked to end is asked to clean up, however it is asked.
    interrupt_once()
    try:
        stay = sys.stdout.isatty() and not leave
        plan = DemoPlan(kill_moments(kill=kill, seed=seed), stay, rows, targets_of(names))
        code = run(plan, console)
    except (ConnectError, ServiceError) as error:
        click.echo(f"{coloured('error', 'red')} {error}", err=True)
        code = 2
    except KeyboardInterrupt:
        console.print("stopped; everything that was started is stopped too")
        code = 130
    sys.exit(code)
