"""Judges configurations from public repositories as a worker here does.

`tests/fixtures/public` has their classes, keys and values; hosts, names and secrets are replaced by neutral ones.
`java` is what we assume of Java's worker: it runs them, except for those that lack a required key. None was run there.
Validation takes some of them, and some of these move rows in a test, see `MOVED`.
Run as a program, this module writes the verdicts again, and the counts on the page that shows them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from connect.cluster.model.request_errors import RequestError
from connect.cluster.validation.check import Validator
from connect.cluster.validation.notes import NO_EFFECT
from connect.plugins.catalog import CONNECTORS, Catalog
from connect.runtime.settings.worker_config import WorkerConfig

FOLDER: Final = Path(__file__).parent / "fixtures/public"
PAGE: Final = Path(__file__).parents[1] / "docs/public-configurations.md"
_START, _END = "<!-- counts:start -->\n", "\n<!-- counts:end -->"
JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
INSTEAD: Final = "Use instead:"
"""The answer to a class that is not here says this if something in this product can replace it."""
_JAVA: Final = " Failed to find any class"
Verdict = Literal["runs", "note", "refused", "no such class"]
VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
"""The verdicts are in the order from the best to the worst."""


MOVED: Final[Mapping[str, Sequence[str]]] = {
    "JdbcSinkConnector": ("jdbc:mysql:", "jdbc:postgresql:"), "S3SinkConnector": ("",),
    "FileStreamSinkConnector": ("",), "ElasticsearchSinkConnector": ("",), "HttpSinkConnector": ("",),
    "RedisSinkConnector": ("",),
    "JdbcSourceConnector": ("jdbc:postgresql:", "jdbc:mysql:", "jdbc:mariadb:", "jdbc:sqlite:"),
    "PostgresConnector": ("",), "MySqlConnector": ("",), "MariaDbConnector": ("",), "DatagenConnector": ("",),
    "FileStreamSourceConnector": ("",),
}  # fmt: skip
"""Has the classes that move rows in `tests/integration/public`, and what their connection.url begins with there."""
LIKE_JAVA: Final[Mapping[str, str]] = {"jdbc-21": "of a record without a schema none is made"}
"""These configurations fail there, as in Java: by their file and place in it, with a part of the error's text."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Holds a configuration and its verdict. `note` means that it runs, but that keys named in `why` have no effect."""

    config: Mapping[str, str]
    java: str
    here: Verdict
    why: Sequence[str]


def validator() -> Validator:
    """Return the validator of a worker whose file allows every folder, as Java's worker has no such list."""
    return Validator(
        Catalog.installed(),
        WorkerConfig.parse({
            "bootstrap.servers": "127.0.0.1:1", "group.id": "g", "config.storage.topic": "c", "key.converter": JSON,
            "offset.storage.topic": "o", "status.storage.topic": "s", "value.converter": JSON, "allowed.paths": "/",
        }),
    )  # fmt: skip


def judged(validator: Validator, config: Mapping[str, str], java: str = "runs") -> Judged:
    """Return what the worker answers to a PUT of this configuration to validate."""
    if validator.catalog.find(config["connector.class"], *CONNECTORS) is None:
        try:
            validator.validate({"name": "public", **config})
        except RequestError as refused:
            return Judged(config, java, "no such class", [str(refused).partition(_JAVA)[0]])
    infos = validator.validate({"name": "public", **config})
    errors = [f"{info.value.name}: {error}" for info in infos.configs for error in info.value.errors]
    if errors:
        return Judged(config, java, "refused", errors)
    idle = [note for note in infos.notes if NO_EFFECT in note]
    return Judged(config, java, "note" if idle else "runs", idle)


def corpus() -> Iterator[Judged]:
    """Yield all configurations with the verdicts that were written before."""
    for file in sorted(FOLDER.glob("*.json")):
        yield from (Judged(**one) for one in json.loads(file.read_text()))


def movable() -> Iterator[tuple[str, Judged]]:
    """Yield what moves rows in `tests/integration/public`: configurations, and names made of their file and place."""
    for file in sorted(FOLDER.glob("*.json")):
        for number, one in enumerate(Judged(**found) for found in json.loads(file.read_text())):
            begins = MOVED.get(one.config["connector.class"].rpartition(".")[2], ())
            url = one.config.get("connection.url", "")
            if one.here in {"runs", "note"} and any(url.startswith(begin) for begin in begins):
                yield f"{file.stem}-{number}", one


def table(found: Sequence[Judged]) -> str:
    """Return a table of how many of each class run unchanged, run with keys that have no effect, or are refused."""
    counts = Counter((one.config["connector.class"], one.here) for one in found)
    classes = sorted({name for name, _ in counts}, key=lambda name: (-sum(counts[name, v] for v in VERDICTS), name))
    lines = [f"| `{name}` | " + " | ".join(str(counts[name, v]) for v in VERDICTS) + " |" for name in classes]
    head = "| class | runs | runs, with keys without effect | refused | not here |"
    return "\n".join([head, "|---|--:|--:|--:|--:|", *lines])


def _share(count: int, of: int) -> str:
    return f"{count}, {count * 100 // of} %"


def _unmoved(found: Sequence[Judged], moved: Collection[Judged]) -> str:
    """Return the classes, and databases, of configurations that validation takes and no test runs with rows."""
    taken = (one for one in found if one.here in {"runs", "note"} and one not in moved)
    names = Counter(_kind(one.config) for one in taken)
    failing = f"{len(LIKE_JAVA)} fails with rows, as in Java"
    return ", ".join([*(f"{name} {count}" for name, count in names.most_common()), failing])


def _kind(config: Mapping[str, str]) -> str:
    scheme = re.match(r"jdbc:\w+:", config.get("connection.url", ""))
    return f"`{config['connector.class'].rpartition('.')[2]}`{f' on `{scheme[0]}`' if scheme else ''}"


def page(found: Sequence[Judged]) -> str:
    """Return the documentation page with today's counts."""
    counts = Counter(one.here for one in found)
    others = Counter("instead" if INSTEAD in one.why[0] else "left" for one in found if one.here == "no such class")
    here = len(found) - counts["no such class"]
    taken = here - sum(one.java == "refused" for one in found)
    runs = counts["runs"] + counts["note"]
    names = dict(movable())
    moved = sum(name not in LIKE_JAVA for name in names)
    ways = runs + others["instead"]
    lines = [
        f"| of {len(found)} | |", "| --- | --: |", f"| are taken as they stand | {counts['runs']} |",
        f"| are taken, with keys that have no effect (which validation names) | {counts['note']} |",
        f"| are refused at a key | {counts['refused']} |",
        f"| are of a class for which another connector of this product is told | {others['instead']} |",
        f"| are of a class that is left to a Java cluster, which validation says first | {others['left']} |", "",
        f"**Validated unchanged: {_share(runs, len(found))}. Seen to move rows: {_share(moved, len(found))}.**",
        f"The other {runs - moved} are not run with rows: {_unmoved(found, names.values())}.", "",
        f"Answered is another figure: {_share(ways, len(found))}, are taken or have another connector here, which is",
        f"work to move to, and all {len(found)} get an answer. Of the {here} whose class is here",
        f"{runs * 100 // here} % are taken, and {runs * 100 // taken} % of the {taken} that Java takes.",
    ]  # fmt: skip
    before, _, behind = PAGE.read_text().partition(_START)
    return f"{before}{_START}{chr(10).join(lines)}{_END}{behind.partition(_END)[2]}"


if __name__ == "__main__":
    ours = validator()
    for path in sorted(FOLDER.glob("*.json")):
        again = [asdict(judged(ours, one["config"], one["java"])) for one in json.loads(path.read_text())]
        path.write_text(json.dumps(again, indent=1, sort_keys=True) + "\n")
    PAGE.write_text(page(list(corpus())))
