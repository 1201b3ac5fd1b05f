"""Decides if an existing object was written by this sink, from the same log of the topic. It is pure."""

from __future__ import annotations

from collections.abc import Mapping

from connect.api.errors import ConnectError
from connectors.s3.paths.layout import Extent


def same_log(where: str, ours: Extent, metadata: Mapping[str, str]) -> Extent:
    """Return the extent of an object.

    ConnectError: another program wrote it, or its records are of another topic that had the same name.
    """
    found = Extent.of(metadata)
    if found is None or found.partition != ours.partition:
        raise foreign(where)
    difference = ours.difference(found)
    if difference is not None:
        raise ConnectError(
            f"{where} holds other records with these offsets: {difference}. The topic was made anew, or is of "
            "another Kafka cluster.",
            key="topics.dir",
            fix="Give this connector a topics.dir of its own, or move the objects of the former topic away.",
        )
    return found


def foreign(where: str) -> ConnectError:
    """Return the error for an object that this sink has not written."""
    return ConnectError(
        f"{where} is there already and was not written by this sink for these records: "
        "its metadata kconnect-* is missing or names others.",
        key="topics.dir",
        fix="Move the object away, or give this connector a topics.dir of its own.",
    )
