"""A sink's target apart, made, read and removed by a process of its own; see `connect.api.trial`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from connect.api.errors import ConnectError
from connect.evaluate.children import asked_of, reason_of
from connect.evaluate.left_behind import left_targets, note_target
from connect.runtime.connector_settings import ConnectorSettings

LIMIT_S: Final = 120.0


class NoTargetApartError(ConnectError):
    """The sink offers no target beside its real one, which is not written to."""


@dataclass(slots=True)
class Trial:
    """One target. `config`: the connector's configuration that writes there."""

    settings: ConnectorSettings
    name: str
    config: Mapping[str, str] = field(default_factory=dict)
    is_once: bool = False
    merges: bool = False
    noted: Path | None = None

    def make(self) -> None:
        """Make it. NoTargetApartError; ConnectError: it cannot be made, with the connector's words."""
        self.noted = note_target(self.name, self.settings.connector)
        made = self._ask("make")
        if made["settings"] is None:
            self.noted.unlink(missing_ok=True)
            raise NoTargetApartError(
                "The sink offers no target beside its real one, and nothing is written to that.",
                fix="Its connector class can offer connect.api.trial.TrialSink.",
            )
        self.config = {**self.settings.connector, **made["settings"]}
        self.is_once, self.merges = made["is_once"], made["merges"]

    def rows(self) -> Counter[str]:
        """How often each row is there, by its hash. ConnectError."""
        return Counter(self._ask("rows")["rows"])

    def remove(self) -> None:
        """Remove it with all that is in it. ConnectError."""
        self._ask("remove")
        if self.noted is not None:
            self.noted.unlink(missing_ok=True)

    @classmethod
    def remove_left(cls, settings: ConnectorSettings) -> int:
        """Remove the targets of this configuration that evaluations left behind which were killed; how many.

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
