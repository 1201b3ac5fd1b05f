"""Judges configurations by what validation, the connector itself and the registries said of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from typing import Final

from connect.cluster.validation.notes import CLIENT_OVERRIDES, FAIL_UNTIL, NO_EFFECT
from connect.cluster.validation.rules import DLQ
from connect.doctor.model.facts import ConnectorFacts, Facts
from connect.doctor.model.findings import Finding, Severity
from connect.doctor.model.words import number, topic_config_line
from connect.lib.printable import without_known_plugins
from connect.runtime.settings.alert_keys import WEBHOOK_URL
from connect.runtime.settings.topic_groups import PREFIX as TOPIC_CREATION

_NO_TOPIC_CHARS: Final = re.compile(r"[^a-zA-Z0-9._-]")
_NAME_CHARS: Final = 200
"""A topic's name has at most 249 characters."""
_NO_ROW = "No row of that topic is written meanwhile."
_CREATE = "# create it, or change the key that names it"


class Configurations:
    """Judges connectors, the worker's file, and the registries that they name."""

    def findings(self, facts: Facts) -> Iterable[Finding]:
        """Yield every broken key, what has failed, keys without effect, and registries that do not answer."""
        for connector in facts.connectors:
            subject = f"connector {connector.name}"
            for message, keys in _by_message(connector.errors).items():
                fix = "\n".join(f'"{key}": "..."' for key in keys) + "  # as the message says"
                why = "The connector fails, or will not start again."
                yield Finding("broken-key", Severity.ERROR, subject, without_known_plugins(message), why, fix)
            for part, cause in connector.failures.items():
                yield Finding(
                    "failed", Severity.ERROR, subject, f"The {part} is FAILED: {without_known_plugins(cause)}",
                    "No row moves there until the cause is mended.",
                    f"connect connectors why {quote(connector.name)}  # then: connect connectors restart "
                    f"{quote(connector.name)}",
                )  # fmt: skip
            for note in connector.notes:
                yield _note(subject, note)
            yield from _dropped(connector)
            yield from _deleted_soon(facts, connector)
        for note in facts.file_notes:
            yield _note("worker file", note)
        for registry in facts.registries:
            if registry.trouble is not None:
                yield Finding(
                    "registry-unreachable", Severity.ERROR, registry.owner, registry.trouble,
                    "No record with a schema that is not known yet can be read or written.",
                    f"{registry.key}=http://registry:8081  # mend it, or start the registry",
                )  # fmt: skip
        if facts.receiver_trouble:
            yield Finding(
                "alert-receiver-unreachable", Severity.WARNING, "worker file", facts.receiver_trouble,
                "Alerts wait, and nobody hears of a connector that fails.",
                f"{WEBHOOK_URL}=https://alerts.example.com/hook  # mend it, or start the receiver",
            )  # fmt: skip
        late = [f"The brokers did not tell {what} in time." for what in facts.kafka.unanswered]
        for text in [*facts.not_asked, *late]:
            yield Finding("not-asked", Severity.NOTE, "doctor", text, "What was not asked was not judged.")


def _dropped(connector: ConnectorFacts) -> Iterable[Finding]:
    """Yield a finding where rows that fail leave nothing behind, as in Java: no letter and no line of the log.

    Of a source it is a note: Java's sources have no dead letters, so that their configurations cannot name a topic.
    """
    given = connector.config
    if given.get("errors.tolerance", "").strip().lower() != "all" or given.get(DLQ, "").strip():
        return
    logged = given.get("errors.log.enable", "").strip().lower() == "true"
    yield Finding(
        "bad-rows-dropped", Severity.WARNING if connector.is_sink and not logged else Severity.NOTE,
        f"connector {connector.name}",
        f"errors.tolerance=all without {DLQ}: a row that fails is passed over"
        f"{', and the log alone tells of it' if logged else ''}.",
        "It is kept nowhere, and cannot be replayed once its cause is mended.",
        f'"{DLQ}": "{_topic_name(connector.name)}-letters"',
    )  # fmt: skip


def _deleted_soon(facts: Facts, connector: ConnectorFacts) -> Iterable[Finding]:
    """Yield a finding where Kafka deletes letters by the age of the records that they were made of."""
    name = connector.config.get(DLQ, "").strip()
    configs = facts.kafka.topics[name].configs if name in facts.kafka.topics else {}
    retention_ms = number(configs.get("retention.ms"))
    is_by_record = configs.get("message.timestamp.type", "CreateTime") == "CreateTime"
    if (
        is_by_record
        and "delete" in configs.get("cleanup.policy", "")
        and retention_ms is not None
        and retention_ms >= 0
    ):
        yield Finding(
            "letters-deleted-soon", Severity.WARNING, f"connector {connector.name}",
            f"Its dead-letter topic {name} has retention.ms={retention_ms}, and a letter has its record's timestamp.",
            "Letters of records that are older are deleted within minutes, before anybody can replay them.",
            topic_config_line(facts, name, "retention.ms=-1"),
        )  # fmt: skip


def _topic_name(connector: str) -> str:
    """Return a connector's name without what no name of a topic may hold, and short enough for one."""
    return _NO_TOPIC_CHARS.sub("-", connector)[:_NAME_CHARS]


def _by_message(errors: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return each message with all keys that have it."""
    found: dict[str, list[str]] = {}
    for key, messages in errors.items():
        for message in messages:
            found.setdefault(message, []).append(key)
    return found


def _note(subject: str, note: str) -> Finding:
    if FAIL_UNTIL in note and note.startswith(CLIENT_OVERRIDES):
        fix = f"# mend or remove {note.partition(':')[0]}"
        return Finding("override-refused", Severity.ERROR, subject, note, "No row moves while its tasks fail.", fix)
    if FAIL_UNTIL in note and note.startswith(TOPIC_CREATION):
        fix = f"# mend or remove {note.partition(':')[0]}"
        why = "A topic that is missing is not made, and no row gets into it."
        return Finding("topic-setting-unknown", Severity.WARNING, subject, note, why, fix)
    if FAIL_UNTIL in note:
        return Finding("target-missing", Severity.WARNING, subject, note, _NO_ROW, _CREATE)
    if NO_EFFECT not in note:
        return Finding("configuration-note", Severity.NOTE, subject, note, "It works; it is worth knowing.")
    why = "What the key asks for does not happen, and nobody says so when it runs."
    fix = f"# remove or rename {note.partition(':')[0].split(' ')[0]}"
    return Finding("key-without-effect", Severity.WARNING, subject, note, why, fix)
