"""Processes of a backfill's engine that need not load their modules: most of what their start costs.

A run starts hundreds of them, as tests kill them at each of their steps. Each is forked from one process that has
loaded what lanes need, `warm_lane_server`. It gets the arguments, environment, folder and search path that it would get
from `spawn`. The `connect backfill` commands of tests start theirs as everywhere.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from multiprocessing import popen_forkserver
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.forkserver import ForkServer
from pathlib import Path
from typing import Any, Final
from unittest import mock

import pytest

from connect.lib import python_child

_SERVER: Final = ForkServer()
"""Apart from the one of `multiprocessing`, which tests of Iceberg have load what they need."""
_LOCK: Final = threading.Lock()


class _Popen(popen_forkserver.Popen):
    def _launch(self, process_obj: Any) -> None:
        # What it preloads is found by PYTHONPATH alone.
        path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        with _LOCK:
            with mock.patch.dict(os.environ, {"PYTHONPATH": path}):
                _SERVER.set_forkserver_preload(["warm_lane_server"])
                _SERVER.ensure_running()
            with mock.patch.object(
                popen_forkserver.forkserver, "connect_to_new_process", _SERVER.connect_to_new_process
            ):
                super()._launch(process_obj)


class _Process(ForkServerProcess):
    @staticmethod
    def _Popen(process_obj: Any) -> _Popen:  # noqa: N802 - multiprocessing's name
        return _Popen(process_obj)


class WarmContext(ForkServerContext):
    """Starts processes as `SpawnContext` does, and sooner."""

    def Process(self, *, target: Callable[..., None], args: tuple[Any, ...], **options: Any) -> _Process:  # noqa: N802 - multiprocessing's name
        """Return a process that is not started yet."""
        environ = {**os.environ, **python_child.safe_variables(os.environ)}
        return _Process(target=_begin, args=(environ, target, args), **options)


def _begin(environ: Mapping[str, str], target: Callable[..., None], args: tuple[Any, ...]) -> None:
    os.environ.clear()
    os.environ.update(environ)
    target(*args)


@pytest.fixture(autouse=True)
def warm_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have engines in this process start theirs so."""
    monkeypatch.setattr(python_child, "spawn_context", WarmContext)
