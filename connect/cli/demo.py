"""`connect demo`: the whole product on real data in one command."""

from __future__ import annotations

import sys

import click


@click.command()
@click.option("--kill/--no-kill", default=True, help="Kill the worker with kill -9 half-way (default: yes).")
@click.option("--seed", type=int, default=None, help="Kill at other moments, drawn from this number.")
@click.option("--exit", "leave", is_flag=True, help="End after the verdict instead of staying up.")
def demo(kill: bool, seed: int | None, leave: bool) -> None:
    """Move real data from a database through Apache Kafka into S3, kill the worker half-way, and verify every row."""
    from rich.console import Console

    from connect.api.errors import ConnectError
    from connect.demo.run import plan, run
    from connect.services import ServiceError

    console = Console()
    try:
        code = run(plan(kill=kill, seed=seed, stay=sys.stdout.isatty() and not leave), console)
    except (ConnectError, ServiceError) as error:
        Console(stderr=True).print(f"[red]error[/red] {error}", highlight=False)
        code = 2
    except KeyboardInterrupt:
        console.print("stopped; everything that was started is stopped too")
        code = 130
    sys.exit(code)
