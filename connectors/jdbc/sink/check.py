"""Checks a configuration against the database: reach, tables, keys, rights."""

from __future__ import annotations

from collections.abc import Sequence

from connect.api.deadline import Deadline
from connectors.jdbc.engine import CONNECT_S, REACH_S, reach
from connectors.jdbc.sink.config import JdbcSinkConfig
from connectors.jdbc.sink.database import TargetDatabase


def check(config: JdbcSinkConfig, deadline: Deadline) -> Sequence[str]:
    """ConfigError with every problem found."""
    database = TargetDatabase(config, connect_timeout_s=CONNECT_S)
    try:
        reach(database, config, deadline.sooner(REACH_S))
    finally:
        database.close()
    return ()
