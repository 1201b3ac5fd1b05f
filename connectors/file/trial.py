"""Makes a file for a trial, beside the one that the sink is set to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from connect.api.errors import ConfigError
from connect.lib.deadline import Deadline


class TrialFile:
    """Reads and removes the file `<file>.<name>`. Rows are its lines, so a value with a line break is several rows."""

    is_once = False
    merges = False

    def __init__(self, file: str | None, name: str) -> None:
        """Name the file. Raise ConfigError if the sink writes to standard output, which cannot be read back."""
        if not file:
            raise ConfigError("Standard output cannot be read back.", key="file", fix="Name a file.")
        self._path = Path(f"{file}.{name}")

    @property
    def settings(self) -> Mapping[str, str]:
        """Return the setting that names the other file."""
        return {"file": str(self._path)}

    def make(self, deadline: Deadline) -> None:
        """Do nothing, as the sink makes the file."""

    def rows(self, deadline: Deadline) -> Iterator[bytes]:
        """Yield the lines of the file; none if the sink has not made it."""
        del deadline
        if self._path.exists():
            with self._path.open("rb") as lines:
                yield from lines

    def remove(self, deadline: Deadline) -> None:
        """Delete the file."""
        del deadline
        self._path.unlink(missing_ok=True)
