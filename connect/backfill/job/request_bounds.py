"""Limits how much of a worker a backfill may use that is asked for over REST. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from connect.api.errors import ConfigError, ConfigProblem
from connect.backfill.job.spec import BackfillSpec
from connect.runtime.settings.worker_config import WorkerConfig

_CORES: Final = os.cpu_count() or 1


def check_bounds(spec: BackfillSpec, worker: WorkerConfig) -> None:
    """Raise ConfigError if the spec asks for more processes or lanes than the worker's file allows."""
    if problems := list(_problems(spec, worker)):
        raise ConfigError(problems)


def within_bounds(spec: BackfillSpec, worker: WorkerConfig) -> BackfillSpec:
    """Return the spec with at most as many processes as this worker allows; another worker may have begun the job."""
    most = _processes(worker)
    if spec.engine.type != "local" or (spec.engine.lanes_at_once(_CORES) or 0) <= most:
        return spec
    return spec.model_copy(update={"engine": spec.engine.model_copy(update={"processes": most})})


def _problems(spec: BackfillSpec, worker: WorkerConfig) -> Iterator[ConfigProblem]:
    most, wanted = _processes(worker), spec.engine.lanes_at_once(_CORES) or 0
    if wanted > most:
        fewer = f"{most} or less" if spec.engine.type == "local" else f"{most}, and engine.type: local"
        text = f"engine.processes: {wanted} at a time are wanted, and this worker allows {most}; write {fewer}"
        yield ConfigProblem("engine.processes", f"{text}, or raise backfill.processes.max in the worker's file.")
    if spec.chunking.lanes > worker.backfill_lanes_max:
        most = worker.backfill_lanes_max
        text = f"chunking.lanes: {spec.chunking.lanes}, and this worker allows {most}; write {most} or less"
        yield ConfigProblem("chunking.lanes", f"{text}, or raise backfill.lanes.max in the worker's file.")


def _processes(worker: WorkerConfig) -> int:
    return worker.backfill_processes_max or _CORES
