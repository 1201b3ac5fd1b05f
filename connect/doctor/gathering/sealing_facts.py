"""Reads the config topic once, and finds records that are not sealed although the worker has a key."""

from __future__ import annotations

from connect.api.errors import ConnectError
from connect.cluster.model.record_json import RecordFormatError
from connect.cluster.store.config_opening import ConfigOpening
from connect.cluster.store.config_reading import read_records
from connect.cluster.store.record_seals import RecordSeals
from connect.doctor.model.facts import SealingFacts
from connect.lib.deadline import Deadline
from connect.runtime.settings.worker_config import WorkerConfig


def sealing_facts(worker: WorkerConfig, deadline: Deadline) -> SealingFacts | None:
    """Return the facts of unsealed records; None if the worker's file names no key."""
    seals = RecordSeals.of(worker)
    if not seals.has_keys:
        return None
    try:
        return _sealing(worker, seals, deadline)
    except ConnectError as error:
        return SealingFacts(trouble=str(error))


def _sealing(worker: WorkerConfig, seals: RecordSeals, deadline: Deadline) -> SealingFacts:
    opening, newest, plain = ConfigOpening(seals), dict[bytes | None, bool](), 0
    for key, value in read_records(worker, f"{worker.client_prefix}-doctor", deadline):
        is_plain = seals.is_plain(key, value)
        plain += is_plain
        newest[key] = is_plain
        try:
            opening.take(key, value)
        except RecordFormatError:
            continue  # `closed` has the records that do not open, and the workers warn of values that are no record
    return SealingFacts(
        outdated=frozenset(opening.outdated()),
        closed=opening.closed,
        older_plain_count=0 if seals.sealed_by == "none" else plain - sum(newest.values()),
    )
