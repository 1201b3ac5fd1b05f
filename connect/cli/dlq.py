"""Defines `connect dlq`, which shows dead letters, replays them once what made them bad is mended, and throws them
away.
"""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from connect.cli.shared.command_errors import one_line_errors
from connect.cli.shared.terminal import cell, echo
from connect.cli.shared.worker_settings import read_worker_settings
from connect.lib.printable import counted

if TYPE_CHECKING:
    from rich.table import Table

    from connect.dlq.letter import Identity, Letter
    from connect.dlq.letters import LetterTopic
    from connect.dlq.replay import Outcome
    from connect.dlq.selection import Selection
    from connect.lib.deadline import Deadline

_FILTERS = (
    click.option("--connector", help="Only letters of this connector."),
    click.option("--topic", "origin", help="Only letters of rows from (a sink) or for (a source) this topic."),
    click.option("--stage", help="Only this stage, such as VALUE_CONVERTER, TRANSFORMATION, TASK_PUT."),
    click.option("--error", help="Only errors in whose class or message this regular expression is found."),
    click.option("--since", help="Only letters from this time on: 30m, 2h, 7d ago, or 2025-03-01T12:00 (UTC)."),
    click.option("--until", help="Only letters before this time."),
)
REACH_S = 5.0
"""How long a broker may take to answer first; what follows has the time of --timeout."""


@click.group()
def dlq() -> None:
    """List, show, replay or purge dead letters. DLQ is the dead-letter topic; --worker names the worker's file."""


def _command(
    *after: Callable[[Any], Any], filters: bool, name: str | None = None
) -> Callable[[Callable[..., None]], Any]:
    """Return a command with the arguments that every command here has, then those of `after`."""

    def decorate(function: Callable[..., None]) -> Any:
        worker = click.option(
            "--worker",
            "file",
            required=True,
            type=click.Path(dir_okay=False, path_type=Path),
            help="The worker's settings, as for `connect worker`.",
        )
        timeout = click.option("--timeout", "timeout_s", default=600.0, show_default=True, help="Seconds to try.")
        options = (*(_FILTERS if filters else ()), worker, timeout, click.argument("dlq_topic", metavar="DLQ"), *after)
        command = dlq.command(name)(one_line_errors()(function))
        return functools.reduce(lambda made, option: option(made), options, command)

    return decorate


@_command(filters=True, name="list")
@click.option(
    "--limit",
    default=50,
    show_default=True,
    type=click.IntRange(min=0),
    help="Show the last so many letters; 0: the summary only.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per letter, all of them.")
def list_letters(
    dlq_topic: str, file: Path, timeout_s: float, limit: int, as_json: bool, **filters: str | None
) -> None:  # fmt: skip
    """Say what is in DLQ: a summary by error, and the letters."""
    from rich.console import Console

    from connect.dlq.text import as_json as letter_json

    selection = _selection(filters)
    topic, deadline = _open(file, dlq_topic), _deadline(timeout_s)
    done = topic.replayed(deadline)
    letters = topic.letters(selection, deadline)
    if as_json:
        for letter in letters:
            sys.stdout.write(json.dumps(letter_json(letter, replayed=letter.identity in done)) + "\n")
        return
    # What goes into a file or a pipe is one line per letter.
    console = Console(width=None if sys.stdout.isatty() else 1000, highlight=False)
    found = [*letters]
    if not found:
        console.print(f"No letters in {dlq_topic} that match.")
        return
    console.print(_summary_table(found, done))
    if not limit:
        return
    console.print()
    console.print(_letter_table(found[-limit:], done))
    if len(found) > limit:
        console.print(f"The last {limit} of {len(found)} letters; --limit shows more.")


def _summary_table(letters: Sequence[Letter], replayed: Collection[Identity]) -> Table:
    """Return a table with a row for each connector, stage and class of error."""
    from rich.table import Table

    from connect.dlq.replay import errors_of
    from connect.dlq.text import moment

    table = Table("letters", "replayed", "connector", "stage", "error", "first", "last", box=None)
    for (connector, stage, error_class), group in errors_of(letters).items():
        times = [at for letter in group if (at := letter.timestamp_ms) is not None]
        count = sum(letter.identity in replayed for letter in group)
        first, last = min(times, default=None), max(times, default=None)
        named = (cell(text) for text in (connector, stage, error_class))
        table.add_row(str(len(group)), str(count), *named, moment(first), moment(last))
    return table


def _letter_table(letters: Sequence[Letter], replayed: Collection[Identity]) -> Table:
    """Return a table with a row for each dead letter."""
    from rich.table import Table

    from connect.dlq.text import first_line, moment

    table = Table("letter", "time", "from", "error", "", box=None)
    for letter in letters:
        mark = "replayed" if letter.identity in replayed else ""
        message = first_line(letter.context.get("exception.message", ""))
        table.add_row(str(letter.place), moment(letter.timestamp_ms), cell(letter.origin), cell(message), mark)
    return table


@_command(click.argument("place", metavar="PARTITION:OFFSET"), filters=False)
def show(dlq_topic: str, file: Path, timeout_s: float, place: str) -> None:
    """Show one letter in full: where it came from, the error with its trace, key, value and headers."""
    from connect.dlq.selection import Selection, parse_place
    from connect.dlq.text import in_full

    wanted = parse_place(place)
    topic, deadline = _open(file, dlq_topic), _deadline(timeout_s)
    for letter in topic.letters(Selection(places=frozenset([wanted])), deadline):
        echo(in_full(letter, replayed=letter.identity in topic.replayed(deadline)))
        return
    raise click.ClickException(f"There is no letter {wanted} in {dlq_topic}.")


@_command(filters=True)
@click.option("--letter", "places", multiple=True, metavar="PARTITION:OFFSET", help="Only this letter; repeatable.")
@click.option("--to", metavar="TOPIC", help="Send the records to this topic as they are, whatever the letters say.")
@click.option("--dry-run", is_flag=True, help="Say what would be replayed and what is still bad; write nothing.")
def replay(  # noqa: PLR0917 - click calls it by name
    dlq_topic: str, file: Path, timeout_s: float, places: tuple[str, ...], to: str | None, dry_run: bool,
    **filters: str | None,
) -> None:  # fmt: skip
    """Replay letters through their connectors' present configuration, each once however often this is run.

    A sink's record goes back to the topic it came from (where every consumer of that topic meets it again) if the
    sink can convert it now. A source's row goes through the transforms and converters to its topic. What is still bad
    stays a letter.
    """
    from connect.dlq.run import run_replay

    selection = _selection(filters, places)
    worker, deadline = read_worker_settings(file), _deadline(timeout_s)
    topic = _open(file, dlq_topic)
    outcome = run_replay(
        worker, topic, selection, deadline, to=to, is_trial=dry_run,
        hear=lambda so_far: echo(f"{so_far.replayed} replayed …", err=True),
    )  # fmt: skip
    _tell(outcome, "would be replayed" if dry_run else "replayed")
    for place in outcome.missing:
        echo(f"There is no letter {place} in {dlq_topic}, or the filters leave it out.")
    sys.exit(1 if outcome.missing or (outcome.refused and not dry_run) else 0)


@_command(filters=True)
@click.option("--replayed", is_flag=True, help="Letters that were replayed, up to the first that was not.")
@click.option("--all", "everything", is_flag=True, help="Every letter, replayed or not.")
@click.option("--dry-run", is_flag=True, help="Say how many letters would go; delete nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--without-context",
    "takes_any",
    is_flag=True,
    help="Records without context headers are letters, too: DLQ's connector writes none.",
)
def purge(  # noqa: PLR0917 - click calls it by name
    dlq_topic: str, file: Path, timeout_s: float, replayed: bool, everything: bool, dry_run: bool, yes: bool,
    takes_any: bool, **filters: str | None,
) -> None:  # fmt: skip
    """Delete letters for good.

    Kafka deletes from the front of a partition only: letters go up to the first one that the filters keep.
    """
    from connect.dlq.selection import Selection

    selection = _selection(filters)
    if not replayed and not everything and selection == Selection():
        raise click.UsageError("Say what to delete: --replayed, --all, or filters such as --until 7d.")
    if replayed and everything:
        raise click.UsageError("--replayed and --all are two different things. Say one of them.")
    topic, deadline = _open(file, dlq_topic), _deadline(timeout_s)
    plan = topic.purge_plan(selection, topic.replayed(deadline) if replayed else None, deadline)
    if dry_run or not plan.letters:
        echo(f"{counted(plan.letters, 'letter')} would be deleted from {dlq_topic}.")
    if plan.without_context and not takes_any:
        text = (
            f"{counted(plan.without_context, 'record')} of {dlq_topic} would go without a context header, by which "
            "letters are known. If it is a dead-letter topic, whose connector lacks "
            "errors.deadletterqueue.context.headers.enable, add --without-context."
        )
        raise click.UsageError(text)
    if dry_run or not plan.letters:
        return
    if not yes:
        click.confirm(f"Delete {counted(plan.letters, 'letter')} from {dlq_topic} for good?", abort=True)
    topic.purge(plan, deadline)
    echo(f"{counted(plan.letters, 'letter')} deleted from {dlq_topic}.")


def _tell(outcome: Outcome, done: str) -> None:
    from connect.dlq.text import first_line

    echo(f"{counted(outcome.replayed, 'letter')} {done} as {counted(outcome.records, 'record')}.")
    if outcome.before:
        echo(f"{counted(outcome.before, 'letter')} replayed before and left out.")
    for letter, reason in outcome.refused[:20]:
        echo(f"letter {letter.place} from {letter.origin} stays: {first_line(reason, 300)}")
    if outcome.refused:
        echo(f"{counted(len(outcome.refused), 'letter')} kept, still bad.")


def _selection(filters: dict[str, str | None], places: tuple[str, ...] = ()) -> Selection:
    from connect.dlq.selection import Selection, parse_error, parse_place, parse_span, parse_stage

    since_ms, until_ms = parse_span(filters["since"], filters["until"], time.time())
    return Selection(
        filters["connector"],
        filters["origin"],
        parse_stage(filters["stage"]),
        parse_error(filters["error"]),
        since_ms,
        until_ms,
        frozenset(map(parse_place, places)) if places else None,
    )


def _open(file: Path, dlq_topic: str) -> LetterTopic:
    """Return the dead-letter topic, once a broker has answered. RetriableError: none does within `REACH_S`."""
    from connect.dlq.letters import LetterTopic

    topic = LetterTopic(read_worker_settings(file).originals, dlq_topic)
    topic.admin.cluster_id(_deadline(REACH_S))
    return topic


def _deadline(timeout_s: float) -> Deadline:
    from connect.lib.deadline import Deadline

    return Deadline.after(timeout_s)
