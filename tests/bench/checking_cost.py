"""Measures what checking a configuration costs: what it names on this machine and elsewhere, its driver, and its
secrets.

CPU time of this thread, the least of many runs, so that others on the machine do not count.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.table import Table

from connect.api.allowed_hosts import AllowedHosts
from connect.api.allowed_paths import ALLOWED_PATHS
from connect.api.config import Config
from connect.kafka.client.override_rules import override_problems
from connect.lib.secrets import masked_setting
from connect.plugins.catalog import Catalog
from connect.runtime.settings.config_secrets import secret_texts
from connectors.jdbc.settings.drivers import driver_problems, files_of
from connectors.jdbc.settings.url import parse

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
MOST_MS = 1.0
RUNS = 50
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}")
_GIVEN = {"connection.url": "jdbc:sqlite:/data/app.db", "port": "9042"}
_OVERRIDES = ("producer.override.", "consumer.override.", "admin.override.")


def configurations() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each connector's configuration of `configs/` that is JSON, by the name of its file."""
    for file in sorted(CONFIGS.rglob("*.json")):
        told = json.loads(file.read_text(encoding="utf-8"))
        config = told.get("config", told)
        if "connector.class" in config:
            yield file.relative_to(CONFIGS).as_posix(), {key: _resolved(key, value) for key, value in config.items()}


def _resolved(key: str, value: str) -> str:
    """Return a value with something in the place of what a config provider gives."""
    return _PLACEHOLDER.sub(_GIVEN.get(key, "given"), value)


def check(catalog: Catalog, settings: Config, config: Mapping[str, str]) -> int:
    """Check what a configuration reaches and holds, as a worker does; return how many things were looked at.

    `settings`: the connector's own, read from it.
    """
    allowed, hosts = settings.allowed, AllowedHosts(("*.example.com", "10.0.0.0/8"))
    looked = len(secret_texts(catalog, config)) + len({masked_setting(value) for value in config.values()})
    looked += len([allowed.problem(key, path) for key, path in settings.named_files()])
    looked += len(list(hosts.problems(settings.named_hosts())))
    for prefix in _OVERRIDES:
        given = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
        looked += len(list(override_problems(given, prefix, allowed, hosts)))
    if (address := config.get("connection.url", "")).startswith("jdbc:"):
        url = parse(address, {})
        looked += len(list(driver_problems(url, ()))) + len(list(files_of(url)))
    return looked


def costs() -> list[dict]:
    """Return the CPU milliseconds that checking each configuration takes."""
    catalog = Catalog.installed()
    return [{"name": name, "ms": _least_ms(catalog, config)} for name, config in configurations()]


def _least_ms(catalog: Catalog, config: Mapping[str, str]) -> float:
    settings = catalog.connector(config["connector.class"]).config.parse({**config, ALLOWED_PATHS: "/"})
    least_s = float("inf")
    for _ in range(RUNS):
        began = time.thread_time()
        check(catalog, settings, config)
        least_s = min(least_s, time.thread_time() - began)
    return least_s * 1000


def costs_table(found: list[dict]) -> Table:
    """Return the costs for people."""
    table = Table("configuration", "cpu ms", "must")
    for one in found:
        table.add_row(one["name"], f"{one['ms']:.3f}", f"< {MOST_MS:g}")
    return table
