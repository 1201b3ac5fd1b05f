"""Holds the roles of REST. Each role may also do what those before it may."""

from __future__ import annotations

from enum import IntEnum


class Role(IntEnum):
    """A role that a user has at a connector, or that a route requires."""

    ANYONE = 0
    """Routes with this role need no credentials: those for probes, and those for calls that workers sign themselves."""
    VIEWER = 1
    """Reads."""
    OPERATOR = 2
    """Pauses, resumes, stops and restarts connectors, and sets their offsets."""
    EDITOR = 3
    """Creates, changes and deletes connectors, evaluates configurations, and runs backfills."""
    ADMIN = 4
    """Sets loggers, and does everything else."""
