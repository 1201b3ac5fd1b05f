"""Tells which internal topics belong to which cluster of workers, and if two clusters use the same. Pure.

Each cluster writes its claim into its slots topic, `<group.id>-slots`, which holds nothing else. A worker that starts
reads the claims of all slots topics. The claim in its own slots topic shows if others use its group.id with other
topics; the claims in the others show if another group.id uses one of its topics. A claim counts while its group has
members; after that the topics are free. A claim also holds the number of the form of the cluster's records, which
counts even if the group has no members.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from connect.api.errors import ConfigError
from connect.api.state import FIRST_FORMAT, FORMAT_MEMBER, require_known
from connect.cluster.model.record_json import compact_json
from connect.runtime.settings.worker_access_keys import AUDIT_TOPIC
from connect.runtime.settings.worker_config import WorkerConfig

SUFFIX: Final = "-slots"
"""Topics whose names end so may be the slots topics of clusters."""
KEY: Final = b"cluster"
GROUP: Final = "group.id"
FORMAT: Final = FIRST_FORMAT
"""This is the form of the records that this version writes into the config, offset and status topics."""
_TOPICS: Final = ("config.storage.topic", "offset.storage.topic", "status.storage.topic")


@dataclass(frozen=True, slots=True)
class ClusterClaim:
    """Names a cluster, its internal topics by the worker key that names each, and the form of their records.

    Clusters may share an `audit_topic`, but no cluster's connectors may write rows to the one of another cluster.
    """

    group_id: str
    topics: Mapping[str, str]
    format_version: int = field(default=FORMAT, compare=False)
    audit_topic: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, worker: WorkerConfig) -> ClusterClaim:
        """Return the claim of a worker's cluster."""
        names = (worker.config_storage_topic, worker.offset_storage_topic, worker.status_storage_topic)
        return cls(worker.group_id, dict(zip(_TOPICS, names, strict=True)), audit_topic=worker.rest_audit_topic)

    def as_bytes(self) -> bytes:
        """Return the claim as the value of the record whose key is KEY."""
        audit = {AUDIT_TOPIC: self.audit_topic} if self.audit_topic is not None else {}
        return compact_json({GROUP: self.group_id, **self.topics, **audit, FORMAT_MEMBER: self.format_version})

    @classmethod
    def parse(cls, value: bytes | None) -> ClusterClaim | None:
        """Return the claim that a record's value holds; None if it is no claim."""
        try:
            members = json.loads(value or b"null")
        except (ValueError, RecursionError):
            return None
        if not isinstance(members, dict) or not all(isinstance(members.get(key), str) for key in (GROUP, *_TOPICS)):
            return None
        number, audit = members.get(FORMAT_MEMBER, FIRST_FORMAT), members.get(AUDIT_TOPIC)
        return cls(
            members[GROUP],
            {key: members[key] for key in _TOPICS},
            number if isinstance(number, int) else FIRST_FORMAT,
            audit if isinstance(audit, str) else None,
        )

    def require_known_form(self) -> None:
        """Raise NewerFormatError if this version would misread the topics of the claim."""
        require_known({FORMAT_MEMBER: self.format_version}, f"The cluster with group.id={self.group_id}", FORMAT)


def conflict(mine: ClusterClaim, other: ClusterClaim) -> ConfigError | None:
    """Return the error if the two clusters must not work at once; None: they share no topic, or are the same one."""
    if mine == other:
        return None
    if mine.group_id == other.group_id:
        key = next(key for key in _TOPICS if mine.topics[key] != other.topics[key])
        return ConfigError(
            f"group.id={mine.group_id} is in use by workers with {_shown(other)}, but this worker has {_shown(mine)}: "
            "two clusters in one group would each get a part of the work only.",
            key=key,
            fix=f"To join that cluster set {key}={other.topics[key]}; else choose another group.id.",
        )
    names = {name: key for key, name in other.topics.items()}
    for key, name in mine.topics.items():
        if name in names:
            return ConfigError(
                f"Topic {name}, the {key} of this worker with group.id={mine.group_id}, is the {names[name]} of the "
                f"cluster with group.id={other.group_id}, which is running: each would overwrite what the other keeps.",
                key=key,
                fix=f"Name a topic of its own, or set group.id={other.group_id} to join that cluster.",
            )
    return None


def _shown(claim: ClusterClaim) -> str:
    return ", ".join(f"{key}={name}" for key, name in claim.topics.items())
