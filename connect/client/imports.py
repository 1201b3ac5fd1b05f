"""Brings connectors of another cluster to this one: configuration, offsets, and at last the work itself.

Both clusters never run a connector at the same time. It is created STOPPED here, and is resumed only after the other
cluster has stopped it and its last offsets were read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from connect.api.errors import ConnectError
from connect.client.rest import ConnectClient, RefusedError
from connect.lib.deadline import Deadline
from connect.lib.secrets import HIDDEN

Verdict = Literal["can be copied", "copied", "moved", "refused"]
WAIT_S: Final = 60.0
_POLL_S: Final = 0.2
_UNKNOWN_ROUTE: Final = (404, 405)
_CONFLICT: Final = 409
_OTHER_KAFKA: Final = (
    "Its offsets are those of another Kafka: they are right here only if the topics have the same records at the same "
    "offsets. After a mirror they have not."
)


@dataclass(frozen=True, slots=True)
class KeyReport:
    """Holds the errors that this cluster finds in one key of a configuration; none if it accepts the key."""

    key: str
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Tells what became of one connector: `reason` says why it was refused, `offsets` counts copied positions."""

    name: str
    verdict: Verdict
    keys: tuple[KeyReport, ...]
    notes: tuple[str, ...] = ()
    offsets: int = 0
    reason: str = ""


class ConnectorImport:
    """Brings connectors from one cluster, which may be a Java one, to another one of ours."""

    def __init__(self, old: ConnectClient, new: ConnectClient) -> None:
        self._old, self._new = old, new
        self._made: set[str] = set()
        self._same_kafka = old.server().get("kafka_cluster_id") == new.server().get("kafka_cluster_id")

    def names(self) -> Sequence[str]:
        """Return the names of the old cluster's connectors."""
        return sorted(self._old.connectors())

    def examine(self, name: str) -> ImportReport:
        """Report if a connector can be copied. Nothing is changed.

        RefusedError: the old cluster has no such connector.
        """
        config = self._old.config(name)
        try:
            answer = self._new.validate(config)
        except RefusedError as error:
            return ImportReport(name, "refused", _keys(config, {}), reason=str(error))
        errors = {c["value"]["name"]: tuple(c["value"]["errors"]) for c in answer["configs"] if c["value"]["errors"]}
        errors |= {
            key: ("The old cluster shows a mask only. Create the connector here from its own file.",)
            for key, value in config.items()
            if HIDDEN in value
        }
        notes = tuple(answer.get("notes", ()))
        reason = f"{len(errors)} of its keys are not taken here" if errors else ""
        return ImportReport(name, "refused" if errors else "can be copied", _keys(config, errors), notes, reason=reason)

    def copy(self, name: str) -> ImportReport:
        """Create the connector here, STOPPED, with its present offsets. It goes on running in the old cluster."""
        report = self.examine(name)
        if report.verdict == "refused":
            return report
        return self._attempt(report, lambda: self._copied(report))

    def move(self, name: str) -> ImportReport:
        """Stop the connector in the old cluster, create it here with its last offsets, and resume it here if it ran.

        If this cluster refuses it, or it fails here, it is resumed in the old one once it has stopped here.
        """
        report = self.examine(name)
        if report.verdict == "refused":
            return report
        before = self._old.status(name)["connector"]["state"]
        if before == "STOPPED" and self._runs_here(name):
            return replace(report, verdict="moved", notes=(*report.notes, "It was moved before."))
        return self._attempt(report, lambda: self._moved(report, before), lambda: self._give_back(name, before))

    def _attempt(
        self, report: ImportReport, work: Callable[[], ImportReport], undo: Callable[[], str] = str
    ) -> ImportReport:
        try:
            return work()
        except ConnectError as error:
            return replace(report, verdict="refused", reason=f"{error} {undo()}".rstrip())

    def _copied(self, report: ImportReport) -> ImportReport:
        self._create(report.name)
        count, notes = self._copy_offsets(report.name, is_stopped=False)
        return replace(report, verdict="copied", notes=(*report.notes, *notes), offsets=count)

    def _moved(self, report: ImportReport, before: str) -> ImportReport:
        name = report.name
        try:
            self._old.change_state(name, "stop")
        except RefusedError as error:
            if error.status not in _UNKNOWN_ROUTE:
                raise
            raise ConnectError(
                f"{self._old.url} cannot stop a connector (Apache Kafka before 3.5).",
                fix="Delete it there yourself; then set its offsets here (connect connectors offsets NAME --set FILE).",
            ) from error
        self._wait(self._old, name, "STOPPED")
        was_here = self._create(name)
        count, notes = self._copy_offsets(name, is_stopped=True, may_be_later=was_here and before == "STOPPED")
        if before == "STOPPED":
            notes = (*notes, "It was stopped there, and is stopped here. Resume it where it shall run.")
        else:
            verb, state = ("pause", "PAUSED") if before == "PAUSED" else ("resume", "RUNNING")
            self._new.change_state(name, verb)
            self._wait(self._new, name, state)
        return replace(report, verdict="moved", notes=(*report.notes, *notes), offsets=count)

    def _give_back(self, name: str, before: str) -> str:
        """Let the old cluster run a connector again that could not be moved. Return why it does not, or an empty text.

        Here it stays STOPPED, if it was created. Until it is, the old cluster does not run it.
        """
        try:
            if name in self._made:
                self._new.change_state(name, "stop")
                self._wait(self._new, name, "STOPPED")
            if before != "STOPPED":
                self._old.change_state(name, "pause" if before == "PAUSED" else "resume")
        except ConnectError as error:
            return f"It was not given back, and stands still at {self._old.url}: {error}"
        return ""

    def _create(self, name: str) -> bool:
        """Create the connector here. Return True if it was here before, STOPPED and with the same settings."""
        config = self._old.config(name)
        was_here = False
        try:
            self._new.create(name, config, "STOPPED")
        except RefusedError as error:
            # A connector that was copied before can be moved now. One that runs here, or has other settings, is left
            # alone.
            if error.status != _CONFLICT or not self._is_same_and_stopped(name, config):
                raise
            was_here = True
        self._made.add(name)
        return was_here

    def _runs_here(self, name: str) -> bool:
        if name not in self._new.connectors() or not self._is_same(name, self._old.config(name)):
            return False
        return bool(self._new.status(name)["connector"]["state"] != "STOPPED")

    def _is_same_and_stopped(self, name: str, config: Mapping[str, str]) -> bool:
        return bool(self._new.status(name)["connector"]["state"] == "STOPPED") and self._is_same(name, config)

    def _is_same(self, name: str, config: Mapping[str, str]) -> bool:
        present = self._new.config(name)
        return present.keys() == config.keys() and all(
            HIDDEN in present[key] or present[key] == value for key, value in config.items()
        )

    def _copy_offsets(self, name: str, *, is_stopped: bool, may_be_later: bool = False) -> tuple[int, tuple[str, ...]]:
        """Let the connector have the old one's offsets and no others; return how many there were, and notes about them.

        `may_be_later`: those that it has here may be the later ones, so that they are not replaced.
        """
        is_sink = self._new.connector(name).get("type") == "sink"
        if is_sink and self._same_kafka:
            return 0, ("Both clusters use the same Kafka: the offsets of its consumer group are there already.",)
        try:
            offsets = self._old.offsets(name)
        except RefusedError as error:
            if error.status not in _UNKNOWN_ROUTE:
                raise
            return 0, ("The old cluster cannot tell offsets (Apache Kafka before 3.6): set them yourself.",)
        self._wait(self._new, name, "STOPPED")
        self._forget_others(name, offsets, may_be_later=may_be_later)
        if not offsets:
            return 0, ("It has no offsets yet: it begins at the beginning.",)
        self._new.alter_offsets(name, offsets)
        notes = () if is_stopped else ("Its offsets are those of now; --move takes the last ones.",)
        return len(offsets), (*notes, _OTHER_KAFKA) if is_sink else notes

    def _forget_others(self, name: str, offsets: Sequence[Mapping[str, Any]], *, may_be_later: bool) -> None:
        """Forget the offsets that a former connector of this name has left here."""
        here = self._new.offsets(name)
        if may_be_later and here and not all(one in offsets for one in here):
            raise ConnectError(
                f"{name} is stopped in both clusters, and stands elsewhere here than at {self._old.url}: it may have "
                "run here since.",
                fix="Resume it here, or delete it here first to begin where it was stopped there.",
            )
        partitions = [one["partition"] for one in offsets]
        others = [{"partition": one["partition"], "offset": None} for one in here if one["partition"] not in partitions]
        if others:
            self._new.alter_offsets(name, others)

    def _wait(self, client: ConnectClient, name: str, state: str) -> None:
        """Wait until the connector is in this state; for STOPPED, also until it has no tasks any more."""
        deadline = Deadline.after(WAIT_S)
        while deadline.wait(_POLL_S):
            found = self._status(client, name)
            if found.get("connector", {}).get("state") == state and not (state == "STOPPED" and found["tasks"]):
                return
            # One that has failed is still told to be FAILED for a moment after it was stopped.
            if found.get("connector", {}).get("state") == "FAILED" and state != "STOPPED":
                raise ConnectError(f"{name} has failed at {client.url}: {found['connector'].get('trace', '')[:500]}")
        raise ConnectError(f"{name} was not {state} at {client.url} within {WAIT_S:.0f} s.")

    def _status(self, client: ConnectClient, name: str) -> Mapping[str, Any]:
        try:
            found: Mapping[str, Any] = client.status(name)
        except RefusedError as error:  # just made: its first status is on the way
            if error.status != _UNKNOWN_ROUTE[0]:
                raise
            return {}
        return found


def _keys(config: Mapping[str, str], errors: Mapping[str, tuple[str, ...]]) -> tuple[KeyReport, ...]:
    """Return a report for every key of the configuration, and for every key with an error."""
    return tuple(KeyReport(key, errors.get(key, ())) for key in sorted(config.keys() | errors.keys()))
