"""Lists the things beyond Kafka that a connector's configuration reaches, for people who have to approve them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from connect.api.reach import Reach
from connect.doctor.model.facts import ConnectorFacts, Facts, NamedThing
from connect.doctor.model.findings import Finding, Severity

_SHOWN_CHARS: Final = 200
_KINDS: Final[Mapping[str, tuple[str, frozenset[Reach]]]] = MappingProxyType({
    "reaches-files": ("files of the worker's machine", frozenset({Reach.FILE})),
    "reaches-hosts": ("hosts", frozenset({Reach.URL, Reach.HOST})),
    "reaches-classes": ("classes", frozenset({Reach.CLASS})),
    "reaches-sql": ("SQL", frozenset({Reach.SQL})),
    "reaches-commands": ("parts of commands", frozenset({Reach.COMMAND})),
})  # fmt: skip
"""Maps the name of each finding to the words for what it lists, and to the kinds of these things."""


class NamedResources:
    """Lists files, hosts, classes and SQL, each with the key that names it. These findings tell of nothing wrong."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield a note for each kind of things that a configuration names."""
        for connector in facts.connectors:
            for name, (words, kinds) in _KINDS.items():
                named = [one for one in connector.named if one.reach in kinds]
                if named:
                    yield _note(name, connector, words, named)


def _note(name: str, connector: ConnectorFacts, words: str, named: Iterable[NamedThing]) -> Finding:
    things = [f"{one.key}={one.value[:_SHOWN_CHARS]}" for one in named]
    bounds = [one.bounds.replace("`", "") for one in named]
    return Finding(
        name,
        Severity.NOTE,
        f"connector {connector.name}",
        f"It names {words}: {', '.join(dict.fromkeys(things))}.",
        f"Whoever may change it chooses these. In bounds by: {'; '.join(dict.fromkeys(bounds))}.",
    )
