"""Keeps a target beside the sink's real one (`connect.api.optional.trial`).

Child processes make, read and remove it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from connect.api.errors import ConnectError
from connect.poc.sandbox.children import asked_of, reason_of
from connect.poc.sandbox.left_behind import left_targets, note_target
from connect.runtime.parts.connector_settings import ConnectorSettings

LIMIT_S: Final = 120.0


class NoTargetApartError(ConnectError):
    """Says that the sink offers no target beside its real one; an evaluation never writes to the real one."""


@dataclass(slots=True)
class Trial:
    """Makes, reads and removes one such target.

    `config` is the configuration with which the connector writes to it, once it is made. `columns` are the types of its
    columns by their paths, once its rows were read; empty if it cannot tell them.
    """

    settings: ConnectorSettings
    name: str
    config: Mapping[str, str] = field(default_factory=dict)
    is_once: bool = False
    merges: bool = False
    noted: Path | None = None
    columns: Mapping[str, str] = field(default_factory=dict)

    def make(self) -> None:
        """Make the target. NoTargetApartError: the connector offers none. ConnectError: the connector could not make
        it.
        """
        self.noted = note_target(self.name, self.settings.connector)
        made = self._ask("make")
        if made["settings"] is None:
            self.noted.unlink(missing_ok=True)
            raise NoTargetApartError(
                "The sink offers no target beside its real one, and nothing is written to that.",
                fix="Its connector class can offer connect.api.optional.trial.TrialSink.",
            )
        self.config = {**self.settings.connector, **made["settings"]}
        self.is_once, self.merges = made["is_once"], made["merges"]

    def rows(self) -> Counter[str]:
        """Return how often each row is in the target, by the row's hash. ConnectError: the target cannot be read."""
        answer = self._ask("rows")
        self.columns = answer["columns"]
        return Counter(answer["rows"])

    def remove(self) -> None:
        """Remove the target with all its rows. ConnectError: it cannot be removed."""
        self._ask("remove")
        if self.noted is not None:
            self.noted.unlink(missing_ok=True)

    @classmethod
    def remove_left(cls, settings: ConnectorSettings) -> int:
        """Remove the targets that killed evaluations of this configuration left behind; return how many there were.

        ConnectError: one cannot be removed.
        """
        left = list(left_targets(settings.connector))
        for target in left:
            cls(settings, target.name, noted=target.file).remove()
        return len(left)

    def _ask(self, action: str) -> dict[str, Any]:
        answer = asked_of(self.settings, action, LIMIT_S, target=self.name)
        reason = reason_of(answer)
        if reason is not None:
            raise ConnectError(reason)
        return answer
