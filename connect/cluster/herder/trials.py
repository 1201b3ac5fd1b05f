"""Asks connectors in task hosts, for REST requests about a configuration and for other parts of the herder."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any

from connect.api.errors import ConnectError
from connect.cluster.herder.dry_run import DryRun
from connect.cluster.hosts.host_validation import validated
from connect.cluster.loop.connector_calls import ConnectorCalls, Positions
from connect.cluster.loop.event_loop import EventLoop
from connect.cluster.loop.futures import mapped
from connect.cluster.model.connector_values import Checked, TaskPlan
from connect.cluster.model.request_errors import UnavailableError
from connect.cluster.model.validation_infos import ConfigInfos
from connect.runtime.task.messages import CallResult, Method


class Asking:
    """Asks connectors through one kind of calls. Any thread may ask; the call begins on the herder's thread."""

    def __init__(self, loop: EventLoop, calls: ConnectorCalls) -> None:
        self._loop = loop
        self._calls = calls

    def ask(
        self,
        method: Method,
        config: Mapping[str, str],
        timeout_s: float,
        positions: Positions = (),
        *,
        count: int = 0,
        asker: str = "",
    ) -> Future[CallResult]:
        """Ask a connector; the future ends in time, with an answer or an error. See `ConnectorCalls.ask`.

        UnavailableError: the connector could not be asked, as the worker ends or is out of its group.
        """
        begin = partial(self._calls.ask, method, config, timeout_s, positions, count=count, asker=asker)
        return mapped(self._loop.begin(f"asking a connector: {method}", begin), _available)


class HerderTrials:
    """It answers what `Trials` asks."""

    def __init__(self, asking: Asking, dry_run: DryRun) -> None:
        self._ask = asking.ask
        self._dry_run = dry_run

    def check(self, config: Mapping[str, str], timeout_s: float, asker: str) -> Future[Checked]:
        """Let the connector try if it reaches its systems and may use them; see `Trials.check`."""
        return mapped(self._ask("check", config, timeout_s, asker=asker), _findings)

    def validate(self, config: Mapping[str, str], timeout_s: float, asker: str) -> Future[ConfigInfos]:
        """Let a task host validate a configuration."""
        return mapped(self._ask("validate", config, timeout_s, asker=asker), _validated)

    def sample(self, config: Mapping[str, str], rows: int, timeout_s: float, asker: str) -> Future[Mapping[str, Any]]:
        """Return live rows of a connector before and after each of its transforms."""
        return mapped(self._ask("sample", config, timeout_s, count=rows, asker=asker), _answered)

    def plan(self, name: str, config: Mapping[str, str], timeout_s: float, asker: str) -> Future[TaskPlan]:
        """Return the tasks that a configuration would lead to, and the topics that are missing."""
        return self._dry_run.plan(name, config, timeout_s, asker)


def _available(result: CallResult) -> CallResult:
    if result.unavailable:
        raise UnavailableError(str(result.error))
    return result


def _validated(result: CallResult) -> ConfigInfos:
    return validated(_answered(result))


def _answered(result: CallResult) -> Any:
    if result.error is not None:
        raise ConnectError(result.error)
    return result.value


def _findings(result: CallResult) -> Checked:
    findings: dict[str, list[str]] = {}
    for problem in result.problems:
        findings.setdefault(problem.key, []).append(problem.message)
    if result.error is not None and not findings:
        findings[""] = [result.error]
    return Checked(findings, tuple(result.value or ()))
