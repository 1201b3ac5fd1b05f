"""Makes the files that a user takes away: each connector with the advised settings, and a backfill's file. Pure."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from connect.poc.report.estimate import LANES, LOAD
from connect.poc.sandbox.result import Result


@dataclass(frozen=True, slots=True)
class FinishedFile:
    """Holds a file for the user to copy. `difference` is its unified diff to what was evaluated; it is empty if both
    are equal.
    """

    name: str
    about: str
    text: str
    difference: str = ""


def finished_files(result: Result) -> list[FinishedFile]:
    """Return a file for each connector, and one for the backfill of a source that can be read in bulk.

    Secrets are masked.
    """
    files = []
    for name, config in result.configs.items():
        before = _connector(name, config)
        changed = dict(config)
        for setting in result.settings_of(name):
            changed.pop(setting.key, None)
            if setting.value is not None:
                changed[setting.key] = setting.value
        after = _connector(name, changed)
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "evaluated", "advised", lineterm="", n=1)
        files.append(FinishedFile(f"{name}.json", f"The connector {name}", after, "\n".join(lines)))
        if any(c.number == LOAD[0] and "chunks" in c.figures and c.connector in {"", name} for c in result.checks):
            files.append(FinishedFile(f"{name}-backfill.yaml", f"A backfill of {name} on Spark", backfill_text(name)))
    return files


def backfill_text(connector: str) -> str:
    """Return the text of the file that `connect backfill` takes for a connector."""
    spec = {
        "apiVersion": "backfill/v1",
        "name": connector,
        "kind": "source",
        "source": {"connector": connector, "config": f"{connector}.json"},
        "engine": {"type": "spark", "master": "local[*,4]"},
        "chunking": {"lanes": LANES},
    }
    return str(yaml.safe_dump(spec, sort_keys=False, allow_unicode=True))


def _connector(name: str, config: Mapping[str, str]) -> str:
    return json.dumps({"name": name, "config": dict(config)}, indent=2, ensure_ascii=False)
