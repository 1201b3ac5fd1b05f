"""Makes workers members of a consumer group. Each partition of the slots topic is a slot; Kafka sees lost workers.

Before a worker uses its slots it writes them to the config topic; this record is its claim. The order of the log makes
all workers agree on who holds which slot, and a worker that reads another's claim on its slot knows that it is out.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

from connect.api.errors import ConnectError, RetriableError
from connect.cluster.hosts.lease import Lease
from connect.cluster.leader.rebalance_figures import RebalanceTimes
from connect.cluster.loop.membership import NOBODY, MembershipListener, View
from connect.cluster.model.config_records import WorkerRecord
from connect.cluster.model.config_state import Claims
from connect.cluster.store.config_store import ConfigStore
from connect.lib.deadline import Deadline

POLL_S: Final = 0.1
"""A stop, and a claim of others on this worker's slots, are noticed within this many seconds. News of the group ends a
poll at once.
"""
RETRY_S: Final = 1.0
NAMESAKE_RETRY_S: Final = 60.0
"""A worker whose address another worker has, too, tries after so long if that one is gone."""
LEADER_SLOT: Final = 0
"""The worker that owns this slot leads."""

_logger = logging.getLogger(__name__)


class GroupMember(Protocol):
    """Stands for the consumer in the group, as `connect.kafka.consume.membership_consumer.MembershipConsumer` is."""

    def poll(self, timeout_s: float) -> None:
        """Serve the group for `timeout_s`, and tell the listener of slots. ConnectError, RetriableError."""

    @property
    def trouble(self) -> str | None:
        """Return why the brokers were last not reached; None if they are reached, as far as is known."""

    def close(self, deadline: Deadline) -> None:
        """Leave the group."""


class SlotListener(Protocol):
    """Hears of slots, on the thread that polls."""

    def assigned(self, partitions: frozenset[int]) -> None:
        """Take slots that are assigned to this worker now."""

    def revoked(self, partitions: frozenset[int]) -> None:
        """Give up slots; they go to other workers as soon as this returns."""

    def lost(self, partitions: frozenset[int]) -> None:
        """Give up slots that other workers may have already."""


Join = Callable[[str, SlotListener], GroupMember]
"""Makes the member for a worker id."""


class GroupMembership:
    """Keeps this worker in the group. The membership thread owns member and slots; any thread may read `view`."""

    def __init__(
        self,
        configs: ConfigStore,
        join: Join,
        lease: Lease,
        release_timeout_s: float,
        *,
        in_transactions: bool = False,
    ) -> None:
        """Take what the membership rests on. `in_transactions` tells if all sources write so on this worker."""
        self._configs = configs
        self._join = join
        self._lease = lease
        self._release_timeout_s = release_timeout_s
        self._in_transactions = in_transactions
        self._view = NOBODY
        self._url = ""
        self._worker_id = ""
        self._held: frozenset[int] = frozenset()
        self._claimed: frozenset[int] | None = None
        self._member: GroupMember | None = None
        self._is_member = False
        self._is_out = False
        self._contested = False
        """It is true when another worker has claimed slots that this worker holds, as far as the group has told."""
        self._joins_anew = threading.Event()
        self._process = time.time_ns()
        self._namesake: str | None = None
        """It says which other worker has this worker's address, as long as this worker stays out because of it."""
        self._is_overwritten = False
        self._generation = 0
        self._rebalances = RebalanceTimes()
        self._listener: MembershipListener | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()  # the view is also renewed by the config topic's thread
        self._thread = threading.Thread(target=self._run, name="membership", daemon=True)

    @property
    def view(self) -> View:
        """Return the present view."""
        return self._view

    @property
    def is_out(self) -> bool:
        """Return True if this worker was put out of the group, or lost sight of it, and is not back yet."""
        return self._is_out

    @property
    def may_work(self) -> bool:
        """Return True if tasks may run on this worker now: the lease of its hosts is good."""
        return self._lease.is_good

    def figures(self) -> dict[str, float]:
        """Return the figures of rebalances, by their names."""
        return dict(self._rebalances.figures())

    @property
    def trouble(self) -> str | None:
        """Return why the brokers were last not reached; None if they are reached, as far as is known."""
        member = self._member
        return self._namesake or (None if member is None else member.trouble)

    def start(self, url: str, worker_id: str, listener: MembershipListener) -> None:
        """Join the group on a thread of its own."""
        self._url, self._worker_id, self._listener = url, worker_id, listener
        self._lease.hold()
        self._rebalances.began()
        self._thread.start()

    def config_changed(self) -> None:
        """Take note that another worker may have claimed slots."""
        claimed = self._claimed
        if claimed is None:
            return
        claims = self._configs.claims  # not the snapshot, as this runs for each record
        self._heed(claimed, claims)
        self._renew(claims)

    def join_anew(self) -> None:
        """Leave the group and join it again soon. By that Kafka gives out all slots that nobody has."""
        self._joins_anew.set()

    def close(self, deadline: Deadline) -> None:
        """Leave the group."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(deadline.remaining_s)
        self._lease.close()

    # --- on the membership thread ---

    def assigned(self, partitions: frozenset[int]) -> None:
        """See SlotListener. The slots count once they are claimed."""
        self._is_member, self._is_out = True, False
        self._rebalances.ended()
        self._held |= partitions
        self._lease.hold()

    def revoked(self, partitions: frozenset[int]) -> None:
        """See SlotListener."""
        self._rebalances.began()
        self._held -= partitions
        if self._claimed is not None:
            self._claimed -= partitions
        self._renew(self._configs.claims)
        if partitions and self._listener is not None:
            self._listener.release(partitions, Deadline.after(self._release_timeout_s))

    def lost(self, partitions: frozenset[int]) -> None:
        """See SlotListener."""
        _logger.warning("out_of_the_group", extra={"slots": len(partitions)})
        self._is_member, self._is_out = False, True
        self._rebalances.began()
        self._give_up(partitions)
        self._renew(self._configs.claims)

    def _run(self) -> None:
        pause_s = POLL_S
        while not self._stopping.is_set():
            try:
                self._serve()
                pause_s = POLL_S
            except RetriableError as error:
                _logger.warning("group_not_reached", extra={"error": str(error)})
            except (ConnectError, TimeoutError) as error:
                _logger.error("group_not_joined", extra={"error": str(error)})  # noqa: TRY400 - the text says what to do
            self._stopping.wait(pause_s if self._namesake is None else NAMESAKE_RETRY_S)
            pause_s = RETRY_S

    def _serve(self) -> None:
        self._contested, self._namesake = False, None
        self._claimed, self._is_member, self._is_overwritten = None, False, False
        self._joins_anew.clear()
        member = self._member = self._join(self._worker_id, self)
        try:
            while not self._stopping.is_set():
                try:
                    member.poll(POLL_S)
                except RetriableError as error:
                    _logger.debug("group_answered", extra={"error": str(error)})
                self._claim()
                if self._namesake is not None:
                    raise ConnectError(self._namesake)
                if self._joins_anew.is_set():
                    raise RetriableError("The slots topic was made anew, so this worker joins anew.")
                if self._contested:
                    raise RetriableError("Other workers have claimed slots of this worker, so it joins anew.")
        finally:
            member.close(Deadline.after(self._release_timeout_s))
            if self._held and not self._stopping.is_set():
                self.lost(self._held)  # the member was killed before it could tell

    def _claim(self) -> None:
        # A member without slots also writes a claim, once: from then on it can be reached, and answers.
        if not self._is_member or (self._claimed == self._held and not self._is_overwritten):
            return
        claimed = self._held
        self._is_overwritten = False
        self._configs.put(
            WorkerRecord(self._worker_id, self._url, sorted(claimed), self._process, self._in_transactions)
        )
        self._claimed = claimed
        claims = self._configs.claims
        self._generation = claims.next_offset
        _logger.info("slots_claimed", extra={"slots": len(claimed), "leads": LEADER_SLOT in claimed})
        self._heed(claimed, claims)
        self._renew(claims)

    def _heed(self, claimed: frozenset[int], claims: Claims) -> None:
        """Give up what another worker has claimed since, and join anew.

        The other claim may be a late one, of a worker that is itself out. The group assigns slots that it has never
        taken away only to those who join.
        """
        mine = claims.workers.get(self._worker_id)
        taken = claimed - frozenset(mine.slots if mine else ())
        if self._contested or claims.next_offset < self._generation:
            return
        if mine is not None and mine.process != self._process:
            self._heed_namesake(mine)
        elif taken & self._held:
            self._leave(taken)

    def _heed_namesake(self, other: WorkerRecord) -> None:
        """Leave the group if the other worker with this address began first, as both replace each other's claims."""
        if other.process < self._process:
            self._namesake = (
                f"Another worker that is up has this worker's address {self._worker_id}, so this one runs nothing, and "
                f"looks again in {NAMESAKE_RETRY_S:g} s. Give each worker of the group its own "
                "rest.advertised.host.name or port."
            )
            self._leave(self._held)
        elif self._held.intersection(other.slots):
            self._leave(self._held)
        else:
            self._is_overwritten = True

    def _leave(self, slots: frozenset[int]) -> None:
        _logger.warning("slots_claimed_by_others", extra={"slots": len(slots)})
        self._contested = self._is_out = True
        self._give_up(slots)

    def _give_up(self, slots: frozenset[int]) -> None:
        self._held -= slots
        if self._claimed is not None:
            self._claimed -= slots
        self._lease.revoke()
        if self._listener is not None:
            self._listener.lost()

    def _renew(self, claims: Claims) -> None:
        with self._lock:
            view = self._seen(claims)
            changed, self._view = view != self._view, view
        if changed and self._listener is not None:
            self._listener.view_changed()

    def _seen(self, claims: Claims) -> View:
        slots = self._held & (self._claimed or frozenset())
        owners = {slot: worker.worker_id for worker in claims.workers.values() for slot in worker.slots}
        leader = claims.owner(LEADER_SLOT)
        if leader is not None and leader.worker_id == self._worker_id and LEADER_SLOT not in slots:
            leader = None  # this worker claimed the slot before it was restarted
        return View(
            generation=self._generation,
            leads=LEADER_SLOT in slots,
            leader_url=leader.url if leader is not None else None,
            slots=slots,
            owners=owners,
            urls={worker.worker_id: worker.url for worker in claims.workers.values() if worker.slots},
        )
