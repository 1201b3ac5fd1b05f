"""`connect cassandra` rebuilds topics from tables in one command."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from connect.cli.shared.command_errors import one_line_errors
from connect.cli.shared.terminal import echo

if TYPE_CHECKING:
    from connect.backfill.driver import Driver
    from connect.backfill.job.spec import BackfillSpec

CONNECTOR_CLASS: Final = "connect.cassandra.CassandraSourceConnector"
_WHAT_IS_ASKED: Final = frozenset(
    {"tables", "table.columns", "table.topics", "topic.prefix", "output", "write.times", "written.since", "transforms"}
)


@click.group()
def cassandra() -> None:
    """Rebuild Kafka's topics from Cassandra's tables."""


@cassandra.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--worker", "worker_file", required=True, type=click.Path(dir_okay=False, path_type=Path),
    help="A worker's settings, for Kafka and converters.",
)  # fmt: skip
@click.option("--keyspace", help="Instead of the file's.")
@click.option("--tables", help="Comma-separated, instead of the file's; all of the keyspace where neither names any.")
@click.option("--topic-prefix", help="Instead of the file's.")
@click.option(
    "--since", metavar="MOMENT", help="Only rows written since, as 2024-05-01 00:00:00Z; by their writetimes."
)
@click.option(
    "--delete-missing",
    is_flag=True,
    help="Then write tombstones for keys that the topics have and the tables have no more.",
)
@click.option(
    "--job",
    help="Name of the restore, by which it goes on; else made of the keyspace and of what is asked for.",
)
@click.option(
    "--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True,
    help="Where ranges are read: processes of this machine, or Spark.",
)  # fmt: skip
@click.option("--lanes", default=4, show_default=True, type=click.IntRange(1, 1000), help="Ranges read at a time.")
@click.option("--verify/--no-verify", default=True, show_default=True, help="Read the topics again and count.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a key of FILE; repeatable.")
def restore(  # noqa: PLR0917 - click calls it by name
    file: Path, worker_file: Path, keyspace: str | None, tables: str | None, topic_prefix: str | None,
    since: str | None, delete_missing: bool, job: str | None, engine: str, lanes: int, verify: bool,
    overrides: tuple[str, ...],
) -> None:  # fmt: skip
    """Bring every row of a keyspace's tables into their topics, once.

    FILE is the configuration of a Cassandra source, as for POST /connectors. What was written is committed range by
    range, so the same command goes on after a crash. Agents may send changes meanwhile.
    """
    from connect.backfill.driver import Driver
    from connect.cli.shared.overrides import parse_overrides
    from connect.cli.shared.worker_settings import read_worker_settings, with_every_file

    given = {"keyspace": keyspace, "tables": tables, "topic.prefix": topic_prefix, "written.since": since}
    said = {key: value for key, value in given.items() if value is not None}
    with one_line_errors():
        config = connector_config(file, said | parse_overrides(overrides))
        if delete_missing:
            check_deletes(config, verify=verify)
        spec = restore_spec(job or job_name(config), engine, lanes)
        with Driver(spec, with_every_file(read_worker_settings(worker_file)), config) as driver:
            if not _is_done(driver):
                sys.exit(3)
            if verify and not _is_good(driver):
                sys.exit(1)
            if delete_missing:
                _delete_missing(driver)
                if (note := note_on_deletes(config)) is not None:
                    echo(note)


def _is_done(driver: Driver) -> bool:
    """Run the job to its end; False: it failed or was paused."""
    begun = driver.begin()
    echo(f"restore {begun.name}: {begun.chunks} ranges of about {begun.rows:,} partitions")
    if begun.state.is_copied:
        echo("It was done before. To bring the tables again name another one by --job.")
    for warning in begun.warnings:
        echo(warning)
    done = driver.run()
    echo(f"restore {done.name} is {done.state}")
    return done.state.is_copied


def _is_good(driver: Driver) -> bool:
    from connect.backfill.verify.verify import verify

    verdict = verify(driver)
    for line in verdict.lines():
        echo(line)
    return verdict.is_good


def _delete_missing(driver: Driver) -> None:
    from connect.backfill.verify.missing import delete_missing

    for topic, keys in delete_missing(driver).items():
        echo(f"{topic}: {keys:,} keys were gone, and have tombstones now")


def connector_config(file: Path, overrides: Mapping[str, str]) -> dict[str, str]:
    """Return the configuration in a connector's file, with overrides on top.

    ConfigError: the file holds no configuration, or neither names a keyspace.
    """
    from connect.api.errors import ConfigError
    from connect.lib.setting_text import text_of

    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"The connector file {file} cannot be read: {error}.") from error
    config = content.get("config", content) if isinstance(content, dict) else None
    if not isinstance(config, dict):
        raise ConfigError(
            f"The connector file {file} holds no configuration.", fix="See configs/cassandra-source.json."
        )
    texts = {key: text for key, value in config.items() if (text := text_of(value)) is not None}
    made = {"connector.class": CONNECTOR_CLASS, **texts, **overrides}
    if not made.get("keyspace"):
        raise ConfigError("No keyspace is named.", key="keyspace", fix="Use --keyspace.")
    return made


def job_name(config: Mapping[str, str]) -> str:
    """Return the name of a restore: the keyspace, and a digest of the settings that decide which rows go into which
    topics.

    So the same command goes on with its restore, and one for other tables, topics or moments is a restore of its own.
    """
    asked = sorted((key, value) for key, value in config.items() if key in _WHAT_IS_ASKED and value)
    digest = blake2b(json.dumps(asked).encode(), digest_size=4).hexdigest()
    return f"restore-{config['keyspace']}-{digest}"


def check_deletes(config: Mapping[str, str], *, verify: bool) -> None:
    """Refuse `--delete-missing` where the restore does not bring every row, as it would delete rows that exist."""
    from connect.api.errors import ConfigError

    reasons = {
        "written.since": ("--since", bool(config.get("written.since"))),
        "verify": ("--no-verify", not verify),
        "output": ("output=events, whose records are no rows and whose deletes the agents send",
                   config.get("output", "rows") != "rows"),
        "mode": (f"mode={config.get('mode')}", config.get("mode", "snapshot") != "snapshot"),
    }  # fmt: skip
    for key, (what, is_said) in reasons.items():
        if is_said:
            raise ConfigError(
                f"--delete-missing cannot go with {what}: not every row that is there would be known.", key=key,
                fix="Restore all rows first, with output=rows and verified.",
            )  # fmt: skip


def note_on_deletes(config: Mapping[str, str]) -> str | None:
    """Return what a sink of the topics needs for the tombstones of `--delete-missing`; None if it is nothing."""
    if config.get("write.times", "").strip().lower() != "true":
        return None
    return (
        "The rows tell when they were written (write.times=true): Cassandra sinks of these topics need "
        "delete.times=record, so that a row which comes back behind its tombstone is newer than that."
    )


def restore_spec(name: str, engine: str, lanes: int) -> BackfillSpec:
    """Return the restore as a backfill without a handover. ConfigError: a job cannot have this name."""
    from pydantic import ValidationError

    from connect.api.errors import ConfigError
    from connect.backfill.job.spec import BackfillSpec

    try:
        return BackfillSpec.model_validate(
            {
                "apiVersion": "backfill/v1",
                "name": name,
                "source": {"connector": name},
                "engine": {"type": engine},
                "chunking": {"lanes": lanes},
            }
        )
    except ValidationError as error:
        raise ConfigError(f"{name!r} is no name of a job: {error.errors()[0]['msg']}.", key="job") from error
