"""The roles of REST, each with all that those before it may do."""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    """What somebody may do to a connector, or a route asks for."""

    ANYONE = 0
    """Is asked for where no credentials are: by probes, and by calls that workers sign themselves."""
    VIEWER = 1
    """Reads."""
    OPERATOR = 2
    """Pauses, resumes, stops and restarts connectors, and sets their offsets."""
    EDITOR = 3
    """Creates, changes and deletes connectors, evaluates configurations, and runs backfills."""
    ADMIN = 4
    """Sets loggers, and does everything else."""
