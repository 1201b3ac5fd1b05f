"""Judges if the servers that connectors write to or read from can be reached, and how long their certificates hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from shlex import quote
from typing import Final

from connect.doctor.checks.certificates import shown_certificate
from connect.doctor.model.facts import Facts, TargetFacts
from connect.doctor.model.findings import Finding, Severity

_FAILS: Final = "Its tasks fail or wait where they connect to it."
_OTHERS: Final = "The others take connections; it works with them, and has none to spare."


class Targets:
    """Judges the servers that connectors' keys name."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield servers that take no connection, and those whose certificate has ended or ends soon."""
        refused = {connector.name: connector.errors for connector in facts.connectors}
        by_key: dict[tuple[str, str], list[TargetFacts]] = defaultdict(list)
        for target in facts.targets:
            by_key[target.connector, target.key].append(target)
            yield from shown_certificate(
                f"connector {target.connector}", f"{target.address} ({target.key})", target.address, target.ends,
                facts.now,
            )  # fmt: skip
        for (connector, key), named in by_key.items():
            if key not in refused.get(connector, {}):  # the connector itself has said so
                yield from _unreachable(named, is_running=facts.is_running)


def _unreachable(named: Sequence[TargetFacts], *, is_running: bool) -> Iterable[Finding]:
    """Yield the servers of one key to which no connection can be made.

    Before a worker starts it may be somewhere else that reaches them, so that this is a warning then.
    """
    away = [target for target in named if target.trouble]
    is_all = len(away) == len(named)
    for target in away:
        host, _, port = target.address.rpartition(":")
        yield Finding(
            "target-unreachable",
            Severity.ERROR if is_all and is_running else Severity.WARNING,
            f"connector {target.connector}",
            f"Nobody answers at {target.address} ({target.key}): {target.trouble}.",
            _FAILS if is_all else _OTHERS,
            f"nc -vz {quote(host.strip('[]'))} {port}  # on the worker's machine; start the server, or mend "
            f"{target.key}",
        )
