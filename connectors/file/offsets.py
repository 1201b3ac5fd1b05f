"""Makes the source's partitions and offsets, and checks those that a person sets. Pure.

Form and messages: org.apache.kafka.connect.file.FileStreamSourceConnector of Kafka 4.1. `position` counts bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from connect.api.errors import ConnectError
from connect.api.records import SourcePosition

FILENAME: Final = "filename"
POSITION: Final = "position"
_LONG_MAX: Final = 2**63 - 1
_RESET: Final = 'Set it with PATCH /connectors/<name>/offsets, for example {"position": 0} to begin again.'


def source_position(file: str, position: int) -> SourcePosition:
    """Return the place `position` bytes into the file."""
    return SourcePosition({FILENAME: file}, {POSITION: position})


def position_of(offset: Mapping[str, object] | None) -> int:
    """Return the byte to read next; 0 without an offset. Raise ConnectError if the offset is no place in a file."""
    position = None if offset is None else offset.get(POSITION)
    if position is None:
        return 0
    if not _is_long(position):
        raise ConnectError(
            f"Offset position is the incorrect type: {type(position).__name__}, not an integer.", fix=_RESET
        )
    assert isinstance(position, int)
    if position < 0:
        raise ConnectError(f"The stored position {position} is negative.", fix=_RESET)
    return position


def check_offsets(file: str | None, offsets: Iterable[SourcePosition]) -> None:
    """Raise ConnectError if these offsets may not be set.

    None as an offset forgets a partition and is always allowed.
    """
    if not file:
        raise ConnectError(
            "Offsets cannot be modified if the 'file' configuration is unspecified. "
            "This is because stdin is used for input and offsets are not tracked."
        )
    for partition, offset in ((o.partition, o.offset) for o in offsets):
        if offset is not None:
            _check_offset(partition, offset)


def _check_offset(partition: Mapping[str, object] | None, offset: Mapping[str, object]) -> None:
    if POSITION not in offset:
        raise ConnectError("Offset objects should either be null or contain the key 'position'")
    position = offset[POSITION]
    if not _is_long(position):
        raise ConnectError("The value for the 'position' key in the offset is expected to be a Long value")
    assert isinstance(position, int)
    if position < 0:
        raise ConnectError("The value for the 'position' key in the offset should be a non-negative value")
    if partition is None:
        raise ConnectError("Partition objects cannot be null")
    if FILENAME not in partition:
        raise ConnectError("Partition objects should contain the key 'filename'")


def _is_long(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_LONG_MAX - 1 <= value <= _LONG_MAX
