"""Opens the records of the config topic one after the other, and remembers which of them could not be opened."""

from __future__ import annotations

from typing import Final

from connect.api.errors import ConnectError
from connect.cluster.model.config_records import ConfigRecord, connector_of, decode
from connect.cluster.store.record_seals import NoKeyError, RecordSeals, SealError
from connect.runtime.settings.encryption_keys import ENCRYPTION_KEY

_SHOWN: Final = 5  # connectors that an error names


class ConfigOpening:
    """Opens records in the order of the topic. Its other methods are called after the reading, or under its lock."""

    def __init__(self, seals: RecordSeals) -> None:
        self._seals = seals
        self._closed: dict[bytes, SealError] = {}
        self._outdated: dict[bytes, str] = {}

    def take(self, key: bytes | None, value: bytes | None) -> ConfigRecord:
        """Return the record of these bytes. RecordFormatError; SealError, one of its kinds, if it does not open."""
        known = key or b""
        self._closed.pop(known, None)
        self._outdated.pop(known, None)
        try:
            record = decode(key, self._seals.open(key, value))
        except SealError as error:
            self._closed[known] = error
            raise SealError(f"{_whose(known)}: {error}") from error
        if not self._seals.is_current(known, value):
            self._outdated[known] = connector_of(known.decode())
        return record

    @property
    def closed(self) -> frozenset[str]:
        """Return the connectors with a record that does not open."""
        return frozenset(_name(key) for key in self._closed)

    def outdated(self) -> dict[str, list[bytes]]:
        """Return for each connector the keys of its records that are not sealed as this worker seals."""
        found: dict[str, list[bytes]] = {}
        for key, name in self._outdated.items():
            found.setdefault(name, []).append(key)
        return found

    def lacks_key(self, name: str) -> str | None:
        """Return why the connector's configuration cannot be read if its key is missing; None if it can be read."""
        found = (e for key, e in self._closed.items() if isinstance(e, NoKeyError) and _name(key) == name)
        return next(map(str, found), None)

    def check(self) -> None:
        """Raise ConnectError if configurations cannot be read because their key is missing."""
        # Tasks count with their connector's record only: nobody needs tasks that the connector no longer has.
        lacking = {
            key: error
            for key, error in self._closed.items()
            if isinstance(error, NoKeyError) and not key.startswith(b"task-")
        }
        if not lacking:
            return
        names = sorted({name for key in lacking if (name := _name(key))})
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        whose = f"the record of {'connectors' if len(names) > 1 else 'connector'} {shown}" if names else "its records"
        raise ConnectError(
            f"The config topic (config.storage.topic) cannot be read: of {whose} {next(iter(lacking.values()))}. "
            f"Give {ENCRYPTION_KEY} all keys that the cluster's other workers have: the first seals, the others open. "
            "Nothing was written to it."
        )


def _name(key: bytes) -> str:
    return connector_of(key.decode(errors="replace"))


def _whose(key: bytes) -> str:
    name = _name(key)
    return f"a record of connector {name}" if name else "a record"
