"""Checks by one validation of the worker that the configuration is right and the connector reaches its system (checks 1
and 2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from connect.api.config import KeyDefinition
from connect.api.errors import ConnectError
from connect.client.rest import ConnectClient
from connect.lib.key_role import KeyRole
from connect.lib.printable import counted
from connect.poc.sandbox.result import Check, Outcome, Table

CONFIG = (1, "Configuration")
REACH = (2, "Reach")


def check_config(rest: ConnectClient, config: Mapping[str, str]) -> list[Check]:
    """Validate the configuration. A connector that cannot reach its system says so in the errors of its keys."""
    try:
        answer = rest.validate(config)
    except ConnectError as error:
        return [
            Check(*CONFIG, Outcome.FAIL, f"The worker refused the configuration: {error}"),
            Check(*REACH, Outcome.NOT_TESTED, "The configuration is broken."),
        ]
    problems = _problems(answer)
    notes = [(str(note),) for note in answer.get("notes", ())]
    if problems:
        keys = ", ".join(sorted({key for key, _ in problems}))
        table = Table("What is wrong", ("key", "problem"), problems)
        return [
            Check(
                *CONFIG,
                Outcome.FAIL,
                f"{counted(len(problems), 'problem')} with {keys}: {problems[0][1]}",
                (table,),
            ),
            Check(*REACH, Outcome.NOT_TESTED, "The configuration is broken, or what it names is out of reach."),
        ]
    outcome = Outcome.WARN if notes else Outcome.PASS
    tables = (Table("What to look at", ("note",), notes),) if notes else ()
    text = f"{counted(len(notes), 'note')} on keys." if notes else "Every key is known and its value is good."
    return [
        Check(*CONFIG, outcome, text, tables),
        Check(*REACH, Outcome.PASS, "The connector reached what it names, with these credentials."),
    ]


def with_statement_limit(
    rest: ConnectClient, config: Mapping[str, str], definitions: Iterable[KeyDefinition], limit_s: float
) -> dict[str, str]:
    """Return the configuration with a time limit for statements, if the source has a key for it that is not set.

    So an evaluation holds up a database no longer than it runs itself.
    """
    key = next((one.name for one in definitions if one.role is KeyRole.STATEMENT_LIMIT_MS), None)
    if key is None or config.get(key, "0").strip() not in {"", "0"}:
        return dict(config)
    limited = {**config, key: str(max(1, round(limit_s * 1000)))}
    # Some servers cannot end statements, and their connectors refuse such a limit.
    return dict(config) if any(name == key for name, _ in _problems(rest.validate(limited))) else limited


def _problems(answer: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    return [(c["value"]["name"], str(text)) for c in answer["configs"] for text in c["value"]["errors"]]
