"""An evaluation from start to end: which checks run, in which order, and what each needs of those before it."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import metadata

from connect.api.errors import ConnectError
from connect.api.plugin import PluginKind
from connect.client.manifests import Manifest
from connect.evaluate import delivery_check
from connect.evaluate.config_checks import check_config
from connect.evaluate.options import Options
from connect.evaluate.result import Check, Outcome, Result, Table
from connect.evaluate.sample_checks import check_sample
from connect.evaluate.sandbox import Sandbox
from connect.evaluate.secrecy import Secrecy
from connect.evaluate.source_run import SourceRun, SourceRunner
from connect.plugins import Catalog
from connect.runtime.build import connector_plugin
from connect.runtime.connector_settings import ConnectorSettings

THROUGHPUT = (7, "Throughput")
Say = Callable[[str], None]


def evaluate(manifest: Manifest, options: Options, say: Say) -> Result:
    """Run the checks on a source connector. ConnectError: there is no such connector, or nothing could be started."""
    started_s = time.time()
    catalog = Catalog.installed()
    plugin = connector_plugin(catalog, manifest.config)
    if plugin.kind is not PluginKind.SOURCE:
        raise ConnectError(f"{plugin.name} is a sink; so far sources can be evaluated.", key="connector.class")
    secrecy = Secrecy(catalog, manifest.config)
    say("starting a Kafka and a worker of its own")
    with Sandbox({}) as sandbox:
        checks = _checks(sandbox, manifest, options, lambda text: say(secrecy.hide(text)))
        identity = sandbox.id
    took_s, environment = time.time() - started_s, _environment(plugin.version)
    return secrecy.of_result(Result(identity, manifest.name, manifest.config, started_s, took_s, checks, environment))


def _checks(sandbox: Sandbox, manifest: Manifest, options: Options, say: Say) -> list[Check]:
    config = {**manifest.config, "name": manifest.name}
    found: list[Check] = []

    def note(checks: Sequence[Check], since_s: float) -> None:
        for check in checks:
            found.append(replace(check, took_s=time.monotonic() - since_s))
            say(f"{check.number}. {check.name}: {check.outcome.value}. {check.summary}")

    began_s = time.monotonic()
    note(check_config(sandbox.rest, config), began_s)
    if any(check.outcome is Outcome.FAIL for check in found):
        return found
    began_s = time.monotonic()
    settings = ConnectorSettings(dict(sandbox.worker_properties), dict(config))
    note(check_sample(settings, options.sample_rows, options.duration_s, show_values=options.show_values), began_s)
    if found[-3].outcome is not Outcome.PASS:
        return found
    began_s = time.monotonic()
    runner = SourceRunner(sandbox, config, duration_s=options.duration_s, budget_rows=options.budget_rows)
    peaceful = runner.run("peace")
    rows = peaceful.rows(sandbox)
    note([_throughput(peaceful, rows.count, rows.size_bytes)], began_s)
    if peaceful.failure is not None or not rows.count:
        return found
    began_s = time.monotonic()
    if options.crashes:
        note([delivery_check.check_delivery(sandbox, runner, rows, options=options)], began_s)
    return found


def _throughput(run: SourceRun, rows: int, size_bytes: int) -> Check:
    if run.failure is not None:
        return Check(*THROUGHPUT, Outcome.FAIL, f"The connector failed: {run.failure}")
    if not rows:
        return Check(*THROUGHPUT, Outcome.NOT_TESTED, "No row reached Kafka in time.")
    seconds = max(run.seconds, 0.001)
    numbers = (
        f"{rows:,}",
        f"{size_bytes / 1e6:,.1f} MB",
        f"{run.seconds:.1f} s",
        f"{rows / seconds:,.0f}",
        f"{run.tasks}",
    )
    table = Table("A run in peace", ("rows", "bytes", "first to last", "rows a second", "tasks"), [numbers])
    bound = "" if run.is_complete else " It ended at its bound, not at the end of the data."
    return Check(*THROUGHPUT, Outcome.PASS, f"{rows:,} rows in {run.seconds:.1f} s on this machine.{bound}", (table,))


def _environment(version: str) -> Mapping[str, str]:
    return {
        "connect-for-kafka": metadata.version("connect-for-kafka"),
        "connector version": version,
        "python": platform.python_version(),
        "system": platform.platform(),
    }
