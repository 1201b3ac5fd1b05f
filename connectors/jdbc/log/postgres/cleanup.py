"""Handles the replication slot of a deleted connector: drops it if the configuration says so, else names the command.

The publication stays: other connectors may read it, and it keeps nothing of the server's log.
"""

from __future__ import annotations

from connect.api.errors import ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connectors.jdbc.connection.connection import Database
from connectors.jdbc.log.postgres import slot_setup
from connectors.jdbc.settings.config import JdbcSourceConfig

_CONNECT_S = 10


def clean_up(config: JdbcSourceConfig, deadline: Deadline) -> str | None:
    """Drop the slot.

    Return a text about what stays on purpose, or None if nothing stays. RetriableError: the server is away, or the slot
    is being read.
    """
    name = config.slot_name
    by_hand = f"SELECT pg_drop_replication_slot('{name}')"
    if not (config.slot_drop_on_delete or config.slot_drop_on_stop):
        return (
            f"Slot {name} stays, if it was ever made, and keeps the server's log until it is read again or dropped by "
            f"{by_hand}; slot.drop.on.delete=true drops it with the connector."
        )
    database = Database(config, connect_timeout_s=max(1, min(_CONNECT_S, int(deadline.remaining_s))))
    try:
        _drop(database, name)
    except ConnectError as error:
        kind = RetriableError if isinstance(error, RetriableError) else ConnectError
        fix = f"The server keeps its log until {by_hand} is run."
        raise kind(f"Slot {name} was not dropped: {error}", fix=fix) from error
    finally:
        database.close()
    return None


def _drop(database: Database, name: str) -> None:
    slot = slot_setup.look_at_slot(database, name)
    if slot is None:
        return
    slot_setup.require_own(slot, name, database)
    slot_setup.drop_slot(database, name)
    if slot_setup.look_at_slot(database, name) is not None:
        raise RetriableError("It is being read.")
