"""Makes the table in docs/reach.md of all keys that name a file, code, an address, SQL or a command.

`python -m connect.tools.reference.reach_table FILE` writes it into FILE, between two marks.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from connect.api.config import Config
from connect.api.plugin import PluginKind
from connect.api.reach import BOUNDS, Reach
from connect.backfill.job.spec import BackfillSpec
from connect.kafka.client.override_rules import CLIENT_REACHES
from connect.plugins.catalog import Catalog
from connect.runtime.settings.config_providers import BUILT_IN
from connect.runtime.settings.connector_config import SinkConnectorConfig, SourceConnectorConfig
from connect.tools.reference.markdown import code, escaped, table

BEGIN: Final = "<!-- Made by `make reference`, from the declarations. -->"
END: Final = "<!-- End of what is made. -->"
EVERY_CONNECTOR: Final = "every connector"
OVERRIDES: Final = "`producer.override.`, `consumer.override.`, `admin.override.`"
BACKFILLS: Final = "backfills"


@dataclass(frozen=True, slots=True)
class DeclaredKey:
    """Holds a key as it is declared. `harmless` says why it names no such thing although it sounds so."""

    where: str
    name: str
    doc: str
    reaches: tuple[Reach, ...]
    bounds: str
    harmless: str
    is_open: bool
    """The value is free text if this is True: no number, no choice, and nothing that only the worker's file gives."""


def declared_keys(catalog: Catalog) -> list[DeclaredKey]:
    """Return every key that a configuration may have: those of plug-ins, of every connector, and of backfills."""
    configs: dict[type[Config], list[str]] = {SourceConnectorConfig: [EVERY_CONNECTOR]}
    configs[SinkConnectorConfig] = [EVERY_CONNECTOR]
    for plugin in (*catalog.plugins(), *BUILT_IN):
        if plugin.kind is not PluginKind.HEADER_CONVERTER:
            configs.setdefault(plugin.config, []).append(_short(plugin.name))
    found = [key for config, names in configs.items() for key in _of_config(", ".join(dict.fromkeys(names)), config)]
    return [*found, *_of_model(BackfillSpec, ())]


def _short(name: str) -> str:
    return code(name.rpartition(".")[2].partition("$")[0])


def _of_config(where: str, config: type[Config]) -> Iterator[DeclaredKey]:
    for d in config.definitions():
        is_text = d.type in {"STRING", "LIST", "CLASS", "PASSWORD"}
        is_open = is_text and not d.from_worker and (not d.recommended_values or bool(d.reaches))
        yield DeclaredKey(where, d.name, d.doc, d.reaches, d.bounds, d.harmless, is_open)


def _of_model(model: type[BaseModel], path: Sequence[str]) -> Iterator[DeclaredKey]:
    for name, field in model.model_fields.items():
        here = (*path, field.alias or name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _of_model(field.annotation, here)
            continue
        extra: Mapping[str, object] = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        reach = extra.get("reach")
        reaches = tuple(Reach(str(one)) for one in reach) if isinstance(reach, list) else ()
        bounds, harmless = str(extra.get("bounds", "")), str(extra.get("harmless", ""))
        is_open = "str" in str(field.annotation)
        yield DeclaredKey(BACKFILLS, ".".join(here), field.description or "", reaches, bounds, harmless, is_open)


def reach_table(catalog: Catalog) -> list[str]:
    """Return the table's lines: each key, what it names, and what limits it. Keys with equal lines share one."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for key in declared_keys(catalog):
        if key.reaches and key.is_open:
            line = (code(key.name), ", ".join(key.reaches), escaped(key.bounds or _bounds(key.reaches)))
            rows.setdefault(line, []).append(key.where)
    for name, reaches in CLIENT_REACHES.items():
        rows.setdefault((code(name), ", ".join(reaches), escaped(_bounds(reaches))), []).append(OVERRIDES)
    told = ((", ".join(dict.fromkeys(where)), *line) for line, where in rows.items())
    return table(("of", "key", "names", "what keeps it in bounds"), told)


def _bounds(reaches: Iterable[Reach]) -> str:
    return "; ".join(f"{BOUNDS[reach]}" for reach in reaches)


def written(text: str, catalog: Catalog) -> str:
    """Return the text with today's table between its marks. ValueError: it has no marks."""
    before, begun, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not begun or not ended:
        raise ValueError(f"The text has no place for the table: write {BEGIN} and {END}.")
    lines = "\n".join(reach_table(catalog)).strip()
    return f"{before}{BEGIN}\n\n{lines}\n\n{END}{after}"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.write_text(written(target.read_text(encoding="utf-8"), Catalog.installed()), encoding="utf-8")
