"""Lets a worker that starts claim its cluster's topics. It reads all claims before it writes its own, and again after.

The second look is for clusters that start at the same moment and have both seen no claim at first. Then the cluster
whose claim was written first goes on. The other one waits until the first is seen at work, or until the first one's
claim is so old that it cannot be starting any more.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from connect.api.errors import ConfigError, RetriableError
from connect.cluster.model.cluster_claim import ClusterClaim, conflict
from connect.kafka.admin.groups import GroupMembers
from connect.lib.deadline import Deadline

STARTING_MS: Final = 5_000
"""For this many milliseconds after its claim a cluster may be starting, without a worker in its group yet."""
PAUSE_S: Final = 0.5
LOOKS: Final = 2
"""A worker is refused after this many looks with the same result, as a refused cluster withdraws its claim at once."""
_logger = logging.getLogger(__name__)


class SeenClaim(NamedTuple):
    """Holds a claim as it is in a slots topic; a claim of None is one that was withdrawn."""

    claim: ClusterClaim | None
    offset: int
    time_ms: int


class ClaimLog(Protocol):
    """Reads and writes the claims of clusters. Every call may raise the brokers' errors."""

    def read(self) -> Mapping[str, Sequence[SeenClaim]]:
        """Return the claims in each slots topic, oldest first."""

    def write(self, claim: ClusterClaim | None) -> SeenClaim:
        """Write a claim into the slots topic of this worker's cluster; None withdraws it."""

    def members(self, group_id: str) -> GroupMembers:
        """Return the workers in the group of a cluster."""

    def now_ms(self) -> int:
        """Return the time, in epoch milliseconds."""


@dataclass(frozen=True, slots=True)
class _Rival:
    """Holds a cluster whose claim is in the way.

    It is undecided while it may be starting, or while its group may still count workers that have ended.
    """

    claim: ClusterClaim
    error: ConfigError
    at_work: bool
    undecided: bool


class Claiming:
    """Carries out one try of a worker to claim its cluster's topics."""

    def __init__(self, mine: ClusterClaim, own_topic: str, log: ClaimLog) -> None:
        self._mine = mine
        self._own_topic = own_topic
        self._log = log
        self._seen_before = -1
        self._written: SeenClaim | None = None

    def run(self, deadline: Deadline) -> None:
        """Claim the topics. ConfigError: another cluster that is at work uses this group or one of these topics.

        NewerFormatError: a newer version has written the cluster's topics. It is raised before anything is written.
        RetriableError: at the deadline another cluster is still starting or ending that would be in the way.
        """
        looks = 0
        while True:
            rivals = self._rivals()
            at_work = next((rival for rival in rivals if rival.at_work), None)
            undecided = next((rival for rival in rivals if rival.undecided), None)
            looks = looks + 1 if at_work is not None else 0
            if at_work is not None and looks >= LOOKS:
                self._take_back(at_work)
                raise at_work.error
            if at_work is None and undecided is None:
                if self._written is not None:
                    return
                self._written = self._log.write(self._mine)
                continue
            if undecided is not None and at_work is None:
                _logger.info("waiting_for_other_cluster", extra={"group_id": undecided.claim.group_id})
            if not deadline.wait(PAUSE_S):
                raise RetriableError("A cluster that claims the same group or topics is starting or ending.")

    def _rivals(self) -> list[_Rival]:
        rivals = []
        for topic, claims in self._log.read().items():
            for seen in self._counting(topic, claims):
                if topic == self._own_topic and seen.claim is not None:
                    seen.claim.require_known_form()
                error = conflict(self._mine, seen.claim) if seen.claim is not None else None
                if seen.claim is not None and error is not None:
                    rivals.append(self._rival(topic, seen, seen.claim, error))
        return rivals

    def _rival(self, topic: str, seen: SeenClaim, claim: ClusterClaim, error: ConfigError) -> _Rival:
        # A claim with a time in the future was made before a clock was set back; a start does not take that long.
        starting = abs(self._log.now_ms() - seen.time_ms) < STARTING_MS and self._precedes(topic, seen)
        workers = self._log.members(claim.group_id)
        settled = workers.count > 0 and not workers.rebalancing
        return _Rival(claim, error, settled, undecided=starting or (workers.count > 0 and workers.rebalancing))

    def _counting(self, topic: str, claims: Sequence[SeenClaim]) -> Sequence[SeenClaim]:
        """Return the last claim of a slots topic.

        In the own topic, after this worker has written its claim, return the claims that came between its look and
        its claim.
        """
        if topic != self._own_topic:
            return claims[-1:]
        if self._written is None:
            self._seen_before = claims[-1].offset if claims else -1
            return claims[-1:]
        return [seen for seen in claims if self._seen_before < seen.offset < self._written.offset]

    def _precedes(self, topic: str, seen: SeenClaim) -> bool:
        if self._written is None or topic == self._own_topic or seen.claim is None:
            return True
        return (seen.time_ms, seen.claim.group_id) < (self._written.time_ms, self._mine.group_id)

    def _take_back(self, rival: _Rival) -> None:
        if self._written is not None:
            self._log.write(rival.claim if rival.claim.group_id == self._mine.group_id else None)
