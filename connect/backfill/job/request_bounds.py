"""How much of a worker a backfill may take that is asked for by REST. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from connect.api.errors import ConfigError, ConfigProblem
from connect.backfill.job.spec import BackfillSpec
from connect.runtime.settings.worker_config import WorkerConfig

_CORES: Final = os.cpu_count() or 1
_BY_FILE: Final = "give the spec in a file to `connect backfill run`, or raise {} in the worker's file"


def check_bounds(spec: BackfillSpec, worker: WorkerConfig) -> None:
    """Raise ConfigError if it wants more processes or lanes than the worker's file allows."""
    if problems := list(_problems(spec, worker)):
        raise ConfigError(problems)


def within_bounds(spec: BackfillSpec, worker: WorkerConfig) -> BackfillSpec:
    """Return the spec of a job that goes on, with no more processes than this worker allows: another may have
    begun it.
    """
    most = _processes(worker)
    if spec.engine.type != "local" or (spec.engine.lanes_at_once(_CORES) or 0) <= most:
        return spec
    return spec.model_copy(update={"engine": spec.engine.model_copy(update={"processes": most})})


def _problems(spec: BackfillSpec, worker: WorkerConfig) -> Iterator[ConfigProblem]:
    most, wanted = _processes(worker), spec.engine.lanes_at_once(_CORES) or 0
    if wanted > most:
        how = _BY_FILE.format("backfill.processes.max")
        text = f"engine.processes: {wanted} at a time are wanted, and this worker allows {most}; {how}."
        yield ConfigProblem("engine.processes", text)
    if spec.chunking.lanes > worker.backfill_lanes_max:
        how = _BY_FILE.format("backfill.lanes.max")
        yield ConfigProblem(
            "chunking.lanes",
            f"chunking.lanes: {spec.chunking.lanes}, and this worker allows {worker.backfill_lanes_max}; {how}.",
        )


def _processes(worker: WorkerConfig) -> int:
    return worker.backfill_processes_max or _CORES
