"""Holds the roles of REST. Each role may also do what those before it may."""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    """Names a role that a user has at a connector, or that a route requires."""

    ANYONE = 0
    """Routes with this role need no credentials: those for probes, and those for calls that workers sign themselves."""
    VIEWER = 1
    """The user may read."""
    OPERATOR = 2
    """The user may pause, resume, stop and restart connectors, and set their offsets."""
    EDITOR = 3
    """The user may create, change and delete connectors, evaluate configurations, and run backfills."""
    ADMIN = 4
    """The user may set loggers, and may do everything else."""
