"""Judges the releases of brokers by what their settings tell of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from connect.doctor.model.facts import Facts
from connect.doctor.model.findings import Finding, Severity
from connect.doctor.model.words import servers, some_of
from connect.kafka.admin.broker_releases import PROTOCOL, BrokerRelease, Release

_EXACTLY_ONCE: Final = (2, 5)
"""Since this release a transaction is bound to the member of a group that read its records (KIP-447)."""
_MAINTAINED: Final = (3, 9)
"""Apache Kafka maintains its last three minor releases, and 4.1 is out."""


class Releases:
    """Judges brokers beside each other, and by what workers need of them."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield upgrades that were not finished, and releases that are too old."""
        brokers = facts.kafka.releases
        yield from _different(facts, brokers)
        for held_at, held in _grouped({n: one.held_at for n, one in brokers.items()}).items():
            own = max(one.release for n, one in brokers.items() if n in held and one.release is not None)
            yield Finding(
                "upgrade-unfinished", Severity.WARNING,
                "Kafka", f"{_brokers(held)} of {_shown(own)}, and held at {_shown(held_at)} ({PROTOCOL}).",
                "What came with the newer release is not there yet.",
                f"{PROTOCOL}={_shown(own)}  # in server.properties of each broker; then restart them one by one",
            )  # fmt: skip
        exact = {n: None if one.is_least else one.release for n, one in brokers.items()}
        for release, old in _grouped(exact).items():
            yield from _aged(release, old)


def _different(facts: Facts, brokers: Mapping[int, BrokerRelease]) -> Iterable[Finding]:
    """Yield a finding where brokers do not know settings that have a default in the code of others."""
    everything = frozenset[str]().union(*(one.known for one in brokers.values()))
    behind = {number: everything - one.names for number, one in brokers.items() if everything - one.names}
    if not behind:
        return
    missing = frozenset[str]().union(*behind.values())
    yield Finding(
        "brokers-of-different-releases", Severity.WARNING, "Kafka",
        f"{_told(brokers)}{_brokers(sorted(behind))} without settings that others have: {some_of(missing)}.",
        "An upgrade was not finished. What newer brokers do, the others may not, and a leader may be any of them.",
        f"kafka-broker-api-versions.sh --bootstrap-server {servers(facts)}  # then upgrade those that are behind",
    )  # fmt: skip


def _told(brokers: Mapping[int, BrokerRelease]) -> str:
    """Return a sentence with the releases of brokers; empty if they do not tell different ones."""
    found: dict[str, list[int]] = {}
    for number, one in sorted(brokers.items()):
        if one.release is not None:
            found.setdefault(f"{_shown(one.release)}{' or later' if one.is_least else ''}", []).append(number)
    return f"{'; '.join(f'{_brokers(of)} of {shown}' for shown, of in found.items())}. " if len(found) > 1 else ""


def _aged(release: Release, brokers: list[int]) -> Iterable[Finding]:
    if release < _EXACTLY_ONCE:
        yield Finding(
            "brokers-too-old", Severity.ERROR, "Kafka", f"{_brokers(brokers)} of {_shown(release)}.",
            f"Exactly-once delivery needs {_shown(_EXACTLY_ONCE)} or later.",
            f"# upgrade them to {_shown(_MAINTAINED)} or later",
        )  # fmt: skip
    elif release < _MAINTAINED:
        yield Finding(
            "brokers-unmaintained", Severity.NOTE, "Kafka", f"{_brokers(brokers)} of {_shown(release)}.",
            "Apache Kafka mends its last three releases alone. Who sells it may mend older ones.",
            f"# upgrade them to {_shown(_MAINTAINED)} or later",
        )  # fmt: skip


def _grouped(releases: Mapping[int, Release | None]) -> dict[Release, list[int]]:
    """Return the brokers of each release."""
    found: dict[Release, list[int]] = {}
    for number, release in sorted(releases.items()):
        if release is not None:
            found.setdefault(release, []).append(number)
    return found


def _brokers(numbers: list[int]) -> str:
    listed = some_of([str(number) for number in numbers])
    return f"Broker {listed} is" if len(numbers) == 1 else f"Brokers {listed} are"


def _shown(release: Release | None) -> str:
    return "?" if release is None else f"{release[0]}.{release[1]}"
