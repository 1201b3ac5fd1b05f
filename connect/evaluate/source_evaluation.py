"""The checks of a source, each as far as those before it let it."""

from __future__ import annotations

from connect.client.manifests import Manifest
from connect.evaluate.config_checks import check_config
from connect.evaluate.delivery_check import check_delivery
from connect.evaluate.options import Options
from connect.evaluate.progress import Progress
from connect.evaluate.result import Outcome
from connect.evaluate.sample_checks import DISCOVER, check_sample
from connect.evaluate.sandbox import Sandbox
from connect.evaluate.source_run import SourceRun, SourceRunner
from connect.evaluate.throughput_check import judge_throughput
from connect.runtime.connector_settings import ConnectorSettings


def check_source(sandbox: Sandbox, manifest: Manifest, options: Options, progress: Progress) -> SourceRun | None:
    """Run them; the run in peace, whose topics are kept, or None where it did not come to that."""
    config = {**manifest.config, "name": manifest.name}
    progress.note(*check_config(sandbox.rest, config))
    if progress.has_failed:
        return None
    settings = ConnectorSettings(dict(sandbox.worker_properties), dict(config))
    sampled = check_sample(settings, options.sample_rows, options.duration_s, show_values=options.show_values)
    progress.note(*sampled)
    if progress.outcome_of(DISCOVER[0]) is not Outcome.PASS:
        return None
    runner = SourceRunner(sandbox, config, options)
    peaceful = runner.run("peace")
    rows = peaceful.rows(sandbox)
    progress.note(judge_throughput(peaceful, rows.count, rows.size_bytes))
    if peaceful.failure is not None or not rows.count:
        return None
    if options.crashes:
        exactly_once = config.get("exactly.once.support", "").strip().lower() == "required"
        progress.note(check_delivery(sandbox, runner, peaceful, rows, options=options, exactly_once=exactly_once))
    return peaceful
