"""Checks limits, and changes them while their job runs. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from connect.api.errors import ConfigError, ConfigProblem
from connect.api.optional.bulk import SourceLoad
from connect.backfill.job.pace import Pace
from connect.backfill.job.spec import PACE, Limits
from connect.backfill.job.spec_file import told_mistake


def require_told(pace: Pace, load: SourceLoad) -> None:
    """Raise ConfigError if a limit concerns a figure that the source does not tell."""
    problems = [
        ConfigProblem(f"limits.{key}", f"limits.{key}: the source does not tell it; leave it out.")
        for key, wanted, told in (
            ("max_active_sessions", pace.max_active_sessions, load.active_sessions),
            ("max_replica_lag", pace.max_replica_lag, load.replica_lag_s),
        )
        if wanted and told is None
    ]
    if problems:
        raise ConfigError(problems)


def require_room(pace: Pace, lane_connections: int) -> None:
    """Raise ConfigError if the limit on connections does not even allow one lane.

    `lane_connections` is the number of connections that a lane has to the source.
    """
    if 0 < pace.source_connections < lane_connections:
        raise ConfigError(
            f"limits.source_connections: {pace.source_connections}, but one lane has {lane_connections} connections to "
            "this source.",
            key="limits.source_connections",
            fix=f"Write {lane_connections} or more, or 0 for no limit.",
        )


def limited(limits: Limits, given: Mapping[str, Any]) -> Limits:
    """Return the limits with some of them changed.

    ConfigError lists every key that cannot be changed and every wrong value.
    """
    problems = [
        ConfigProblem(f"limits.{key}", f"limits.{key}: only {', '.join(PACE)} change while a job runs.")
        for key in given
        if key not in PACE
    ]
    try:
        made = Limits.model_validate(limits.model_dump() | {key: given[key] for key in PACE if key in given})
    except ValidationError as error:
        for found in error.errors(include_url=False):
            place = ("limits", *found["loc"])
            key = ".".join(map(str, place))
            problems.append(ConfigProblem(key, f"{key}: {told_mistake(place, found)}."))
    else:
        if not problems:
            return made
    raise ConfigError(problems)
