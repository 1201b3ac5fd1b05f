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
from connect.evaluate.config_checks import check_config
from connect.evaluate.delivery_check import check_delivery
from connect.evaluate.options import Options
from connect.evaluate.result import Check, Outcome, Result
from connect.evaluate.sample_checks import check_sample
from connect.evaluate.sandbox import Sandbox
from connect.evaluate.secrecy import Secrecy
from connect.evaluate.source_run import SourceRunner
from connect.evaluate.throughput_check import judge_throughput
from connect.plugins import Catalog
from connect.runtime.build import connector_plugin
from connect.runtime.connector_settings import ConnectorSettings

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
        checks = run_checks(sandbox, manifest, options, lambda text: say(secrecy.hide(text)))
        identity = sandbox.id
    took_s, environment = time.time() - started_s, _environment(plugin.version)
    return secrecy.of_result(Result(identity, manifest.name, manifest.config, started_s, took_s, checks, environment))


def run_checks(sandbox: Sandbox, manifest: Manifest, options: Options, say: Say) -> list[Check]:
    """The checks of a source in a sandbox that runs, as far as each is worth it after those before it."""
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
    if found[-4].outcome is not Outcome.PASS:
        return found
    began_s = time.monotonic()
    runner = SourceRunner(sandbox, config, options)
    peaceful = runner.run("peace")
    rows = peaceful.rows(sandbox)
    note([judge_throughput(peaceful, rows.count, rows.size_bytes)], began_s)
    if peaceful.failure is not None or not rows.count:
        return found
    began_s = time.monotonic()
    if options.crashes:
        exactly_once = config.get("exactly.once.support", "").strip().lower() == "required"
        delivered = check_delivery(sandbox, runner, peaceful, rows, options=options, exactly_once=exactly_once)
        note([delivered], began_s)
    return found


def _environment(version: str) -> Mapping[str, str]:
    return {
        "connect-for-kafka": metadata.version("connect-for-kafka"),
        "connector version": version,
        "python": platform.python_version(),
        "system": platform.platform(),
    }
