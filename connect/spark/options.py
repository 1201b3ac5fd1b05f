"""Splits the options of a Spark frame into a connector's configuration and options of the frame (`connect.…`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from connect.api.allowed_paths import EVERYWHERE
from connect.api.connector import Connector
from connect.api.errors import ConfigError, ConfigProblem
from connect.api.plugin import PluginKind
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_connector

_OWN: Final = "connect."
_SPLIT_ROWS: Final = "connect.split.rows"
_BATCH_ROWS: Final = "connect.batch.rows"
_TIMEOUT_S: Final = "connect.timeout.s"
_KEY_COLUMNS: Final = "connect.key.columns"
_NUMBERS: Final = {_SPLIT_ROWS: "100000", _BATCH_ROWS: "100000", _TIMEOUT_S: "60"}
_NAMES: Final = (*_NUMBERS, _KEY_COLUMNS)


@dataclass(frozen=True, slots=True, repr=False)
class FrameOptions:
    """Holds the options of a frame. Picklable; `connector` may hold secrets.

    `connector` is the connector's configuration. A partition of a batch read has about `split_rows` rows. A batch of a
    stream has at most `batch_rows` rows, unless one page of the connector has more. The other side may be away for
    `timeout_s` seconds. `key_columns` are the columns of a written frame that make the record's key.
    """

    connector: dict[str, str]
    split_rows: int
    batch_rows: int
    timeout_s: float
    key_columns: tuple[str, ...]

    @classmethod
    def of(cls, given: Mapping[str, str], kind: PluginKind) -> FrameOptions:
        """Return the options that Spark gives, whose names are in lower case. ConfigError lists every mistake."""
        own = {name: text for name, text in given.items() if name.startswith(_OWN)}
        problems = [*_unknown(own), *_without_case(given)]
        if not given.get("connector.class"):
            problems.append(ConfigProblem("connector.class", "connector.class is missing: it names the connector."))
        numbers = {name: _number(name, own.get(name, default), problems) for name, default in _NUMBERS.items()}
        if problems:
            raise ConfigError(problems)
        keys = tuple(part.strip() for part in own.get(_KEY_COLUMNS, "").split(",") if part.strip())
        connector = _spelled({name: text for name, text in given.items() if name not in own}, kind)
        return cls(
            connector, int(numbers[_SPLIT_ROWS]), int(numbers[_BATCH_ROWS]), numbers[_TIMEOUT_S], key_columns=keys
        )

    def build(self) -> Connector:
        """Return the connector, which is not connected yet. ConfigError: its configuration is wrong.

        The person who wrote the program wrote the configuration, so it may reach whatever that person may.
        """
        return build_connector(Catalog.installed(), self.connector, EVERYWHERE)


def _unknown(own: Mapping[str, str]) -> Iterator[ConfigProblem]:
    for name in own:
        if name not in _NAMES:
            yield ConfigProblem(name, f"There is no option {name}; there are {', '.join(_NAMES)}.")


def _without_case(given: Mapping[str, str]) -> Iterator[ConfigProblem]:
    for name in given:
        if name.startswith(("transforms", "predicates")):
            text = "Spark lowers the names of options, which would change aliases; transform the frame instead."
            yield ConfigProblem(name, f"{name}: {text}")


def _number(name: str, text: str, problems: list[ConfigProblem]) -> float:
    """Return the number of an option, and add a problem if it is not above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 2**31:
        problems.append(ConfigProblem(name, f"{name} is {text!r}; it must be a number above 0 and below 2**31."))
    return number


def _spelled(given: Mapping[str, str], kind: PluginKind) -> dict[str, str]:
    """Return the options under the names that the plug-in declares. ConfigError: the plug-in is of the other kind."""
    plugin = Catalog.installed().connector(given["connector.class"])
    if plugin.kind is not kind:
        raise ConfigError(
            f"{plugin.name} is a {plugin.kind} connector, and a {kind} connector is needed here.",
            key="connector.class",
            fix="A frame is read from a source (spark.read, readStream) and written to a sink (write, writeStream).",
        )
    declared = {name.lower(): name for d in plugin.config.definitions() for name in (d.name, *d.former)}
    return {"name": "spark", **{declared.get(name.lower(), name): text for name, text in given.items()}}
