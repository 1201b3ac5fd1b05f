"""Defines `connect connectors`: what a person does with the connectors of a cluster, ours or a Java one, over REST."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from connect.cli.shared.cluster_options import as_json, cluster_command, connector_name, print_json
from connect.cli.shared.manifest_files import named_manifests
from connect.cli.shared.table import print_table
from connect.cli.shared.terminal import echo, echo_folded
from connect.lib.printable import counted

if TYPE_CHECKING:
    from connect.client.changes import Change
    from connect.client.rest import ConnectClient

_FILES = click.option(
    "-f", "--file", "files", multiple=True, required=True, type=click.Path(path_type=Path),
    help="A file of a connector (JSON, YAML, .properties, Strimzi's KafkaConnector), or a folder; repeatable.",
)  # fmt: skip


@click.group()
def connectors() -> None:
    """List, apply, edit, pause, restart, delete connectors; say why one does not move."""


@cluster_command(connectors, as_json, name="list")
def list_connectors(client: ConnectClient, as_json: bool) -> None:
    """Every connector: state, tasks, and why it does not move."""
    from connect.client.overview import overview

    found = client.connectors()
    if as_json:
        print_json(found)
        return
    rows = [(c.name, c.type, c.state, c.tasks, c.plugin, c.reason) for c in overview(found)]
    print_table(("NAME", "TYPE", "STATE", "TASKS", "CLASS", "REASON"), rows)


@cluster_command(connectors, connector_name)
def get(client: ConnectClient, name: str) -> None:
    """The configuration of a connector, as JSON that `apply` takes."""
    print_json({"name": name, "config": client.config(name)})


@cluster_command(connectors, connector_name, as_json)
def status(client: ConnectClient, name: str, as_json: bool) -> None:
    """Show the state of a connector and its tasks."""
    found = client.status(name)
    if as_json:
        print_json(found)
        return
    parts = [("connector", found["connector"]), *((f"task {task['id']}", task) for task in found["tasks"])]
    print_table(
        ("PART", "STATE", "WORKER", "SINCE", "REASON"),
        [(part, s["state"], s["worker_id"], s.get("since"), s.get("reason") or _cause(s)) for part, s in parts],
    )


@cluster_command(connectors, connector_name, as_json)
def why(client: ConnectClient, name: str, as_json: bool) -> None:
    """Why a connector is idle, behind or failed: what it waits for, since when, and what to do."""
    from connect.client.reasons import reasons
    from connect.client.rest import RefusedError

    try:
        found = list(client.why(name))
    except RefusedError:  # a Java worker, or there is no such connector, which the next calls say
        planned = [task["task"] for task in client.connector(name)["tasks"]]
        found = [asdict(one) for one in reasons(client.status(name), client.offsets(name), planned=planned)]
    if as_json:
        print_json(found)
    else:
        for reason in found:
            echo_folded(f"{reason['about']}: {reason['text']}", "")


@cluster_command(
    connectors, connector_name, as_json,
    click.option("--rows", default=5, show_default=True, type=click.IntRange(1, 50), help="How many rows."),
)  # fmt: skip
def sample(client: ConnectClient, name: str, as_json: bool, rows: int) -> None:
    """Live rows before and after each transform; nothing is written, and no offset moves."""
    from connect.client.sampled_rows import sample_lines

    found = client.call("GET", f"/connectors/{quote(name, safe='')}/sample?rows={rows}")
    if as_json:
        print_json(found)
    else:
        click.echo("\n".join(sample_lines(found)))


@cluster_command(
    connectors, _FILES, click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing."),
    click.option("--prune", is_flag=True, help="Delete the connectors that no file wants."),
    click.option("--watch", is_flag=True, help="Go on: apply again whenever files or connectors have changed."),
    click.option("--every", "every_s", type=click.FloatRange(0.1), default=15.0, show_default=True, metavar="SECONDS",
                 help="How often --watch looks."),
    click.option("--conditions", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                 help="Where --watch writes, as JSON, if each connector is as its file wants it."),
)  # fmt: skip
def apply(
    client: ConnectClient,
    files: Sequence[Path],
    *,
    dry_run: bool,
    prune: bool,
    watch: bool,
    every_s: float,
    conditions: Path | None,
) -> None:
    """Make the cluster's connectors what the files say: create, update, leave, with --prune delete."""
    from connect.api.errors import ConfigError, ConnectError
    from connect.client.apply_changes import carry_out
    from connect.client.changes import changes
    from connect.client.manifests import cut_problems

    if watch and dry_run:
        raise click.UsageError("--watch changes connectors, and --dry-run does not: give one of them.")
    if conditions is not None and not watch:
        raise click.UsageError("--conditions needs --watch.")
    if watch:
        _watch(client, files, prune, every_s, conditions)
        return
    failed, wanted = 0, named_manifests(files)
    # The rest of a file that was cut may name another connector, and --prune would delete the one that the file named.
    if prune and (cut := cut_problems(wanted)):
        raise ConfigError([replace(one, message=f"{one.key}: {one.message}") for one in cut])
    for change in changes(wanted, client.connectors(), prune=prune):
        _show(change)
        if dry_run:
            continue
        try:
            carry_out(client, change)
        except ConnectError as error:
            failed += 1
            echo(f"  refused: {error}", err=True)
    if failed:
        raise click.ClickException(f"{counted(failed, 'change')} refused; all else is as the files say.")


def _watch(client: ConnectClient, files: Sequence[Path], prune: bool, every_s: float, file: Path | None) -> None:
    """Apply files until SIGTERM or SIGINT, and print each condition that changes."""
    from connect.cli.shared.stop_signals import StopSignals
    from connect.client.folder_sync import FolderSync, write_conditions

    stopping = threading.Event()
    StopSignals(stopping.set).listen()
    sync = FolderSync(client, files, prune=prune, wait=stopping.wait)
    is_written = False
    while not stopping.is_set():
        news = sync.run_once()
        for condition in news:
            echo(f"{condition.since} {condition.about}: {condition.reason}: {condition.message}")
        if file is not None and (news or not is_written):
            try:
                write_conditions(file, sync.conditions)
                is_written = True
            except OSError as error:
                is_written = False
                echo(f"The conditions were not written to {file}: {error}.", err=True)
        stopping.wait(every_s)


@cluster_command(connectors, _FILES, name="diff")
def show_difference(client: ConnectClient, files: Sequence[Path]) -> None:
    """What `apply` would change; exit code 1 when anything would."""
    from connect.client.changes import changes

    found = changes(named_manifests(files), client.connectors(), prune=False)
    for change in found:
        _show(change)
    sys.exit(any(change.verb != "leave" for change in found))


@cluster_command(connectors, connector_name)
def edit(client: ConnectClient, name: str) -> None:
    """Change a configuration in your editor."""
    before = client.config(name)
    text = click.edit(json.dumps(before, indent=2, ensure_ascii=False) + "\n", extension=".json")
    if text is None:
        echo("Nothing was changed.")
        return
    try:
        after = json.loads(text)
    except ValueError as error:
        raise click.ClickException(f"What was saved is no JSON, and nothing was changed: {error}.") from error
    client.save(name, after)
    echo(f"Connector {name} was changed.")


def _verb(verb: str, doc: str) -> None:
    def run(client: ConnectClient, name: str) -> None:
        client.change_state(name, verb)
        echo(f"Connector {name}: {verb} is on its way.")

    run.__doc__ = doc
    cluster_command(connectors, connector_name, name=verb)(run)


_verb("pause", "Let the tasks rest; they keep their place.")
_verb("resume", "Let the tasks run.")
_verb("stop", "End the tasks; configuration and offsets stay.")


@cluster_command(
    connectors,
    connector_name,
    click.option("--all", "everything", is_flag=True, help="Also tasks that have not failed."),
)
def restart(client: ConnectClient, name: str, everything: bool) -> None:
    """Restart what has failed of a connector; with --all it and all its tasks."""
    client.restart(name, include_tasks=True, only_failed=not everything)
    echo(f"Connector {name}: a restart is on its way.")


@cluster_command(connectors, connector_name, click.option("--yes", is_flag=True, help="Do not ask."))
def delete(client: ConnectClient, name: str, yes: bool) -> None:
    """Remove a connector; offsets stay in Kafka."""
    if not yes:
        click.confirm(f"Delete connector {name}?", abort=True)
    client.delete(name)
    echo(f"Connector {name} was deleted.")


@cluster_command(
    connectors, connector_name,
    click.option("--reset", is_flag=True, help="Forget all offsets of a stopped connector."),
    click.option("--set", "file", type=click.File(), help="Set the offsets in this file, as `offsets` prints them."),
)  # fmt: skip
def offsets(client: ConnectClient, name: str, reset: bool, file: Any) -> None:
    """Where a connector stands, as JSON; set or forget it."""
    if reset:
        echo(client.reset_offsets(name))
    elif file is not None:
        echo(client.alter_offsets(name, _offsets_in(file)))
    else:
        print_json({"offsets": client.offsets(name)})


def _offsets_in(file: Any) -> Sequence[Any]:
    try:
        found = json.load(file)
    except (ValueError, RecursionError) as error:
        raise click.ClickException(
            f"{file.name}: this is no JSON: {error}. See what stands before that place."
        ) from error
    offsets = found.get("offsets") if isinstance(found, dict) else None
    if not isinstance(offsets, list):
        raise click.ClickException(
            f'{file.name} has no list "offsets". `connect connectors offsets NAME` prints one that can be changed.'
        )
    return offsets


@cluster_command(connectors, connector_name)
def topics(client: ConnectClient, name: str) -> None:
    """Show the topics that a connector used."""
    client.connector(name)  # REST has no topics of a name that no connector has, and does not say so
    used = sorted(client.topics(name))
    for topic in used:
        echo(topic)
    if not used:
        echo(f"Connector {name} has used no topic since they were last reset.", err=True)


@cluster_command(connectors, connector_name, as_json)
def history(client: ConnectClient, name: str, as_json: bool) -> None:
    """Show versions of the configuration, the last states, and which workers were there; --json shows all."""
    from connect.client.history_rows import rebalance_rows, state_rows, version_rows

    found = client.history(name)
    if as_json:
        print_json(found)
        return
    print_table(("VERSION", "WHEN", "WHO", "CHANGED"), version_rows(found["configs"]))
    for columns, rows in (
        (("WHEN", "PART", "STATE", "WORKER", "CAUSE"), state_rows(found["states"])),
        (("WHEN", "LEADER", "WORKERS"), rebalance_rows(found["rebalances"])),
    ):
        if rows:
            echo("")
            print_table(columns, rows)


@cluster_command(connectors, connector_name, click.argument("version", type=int))
def rollback(client: ConnectClient, name: str, version: int) -> None:
    """Bring back a version of the configuration, as a new version."""
    client.rollback(name, version)
    echo(f"Connector {name} has the configuration of version {version} again.")


def _show(change: Change) -> None:
    echo(f"{change.verb:7} {change.name}" + (f" -> {change.state}" if change.state else ""))
    if change.verb != "update":
        return
    for key in change.keys:
        echo(f"  {key.key}: {_value(key.before)} -> {_value(key.after)}")
    for name in change.hidden:
        echo(f"  {name}: sent again, as the cluster does not show it")


def _value(value: str | None) -> str:
    return "(none)" if value is None else value


def _cause(state: Mapping[str, Any]) -> str:
    """Return the first line of a trace, which is all that a Java worker says."""
    return str(state.get("trace") or "").partition("\n")[0]
