"""The doctor reads releases of brokers from their settings, and compares the brokers."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import ConfigEntry, ConfigSource
from doctor_faults import with_kafka

from connect.doctor.examination import examined
from connect.kafka.admin.broker_releases import BrokerRelease, release_of

PROTOCOL = "inter.broker.protocol.version"


def _entry(name: str, value: str, default: str | None = None) -> ConfigEntry:
    """A setting with its default value, or one that the file sets, with the default that it replaces."""
    if default is None:
        return ConfigEntry(name, value, ConfigSource.DEFAULT_CONFIG)
    replaced = ConfigEntry(name, default, ConfigSource.DEFAULT_CONFIG, is_synonym=True)
    return ConfigEntry(name, value, ConfigSource.STATIC_BROKER_CONFIG, synonyms={name: replaced})


def _release(*entries: ConfigEntry) -> tuple[object, bool, object]:
    found = release_of({entry.name: entry for entry in entries})
    return found.release, found.is_least, found.held_at


@pytest.mark.quick
def test_a_release_is_read_from_the_settings() -> None:
    assert _release(_entry(PROTOCOL, "3.7-IV4")) == ((3, 7), False, None)
    assert _release(_entry(PROTOCOL, "2.8", "3.7-IV4")) == ((3, 7), False, (2, 8))
    # Without ZooKeeper the setting means nothing.
    kraft = _entry("process.roles", "broker", "")
    assert _release(_entry(PROTOCOL, "3.3", "3.9-IV0"), kraft) == ((3, 9), False, None)
    assert _release(kraft) == ((4, 0), True, None)
    # Others speak Kafka's protocol too, and tell little.
    assert _release(_entry("log.retention.ms", "1")) == (None, False, None)
    static = ConfigEntry(PROTOCOL, "3.4", ConfigSource.STATIC_BROKER_CONFIG)
    assert _release(static) == ((3, 4), True, None)
    assert _release(_entry(PROTOCOL, "of somebody")) == (None, False, None)


@pytest.mark.quick
def test_settings_with_a_default_are_those_that_the_brokers_code_knows() -> None:
    static = ConfigEntry("listener.name.a.b", "1", ConfigSource.STATIC_BROKER_CONFIG)
    set_one = _entry("log.dirs", "/x", "/tmp")
    found = release_of({one.name: one for one in (static, set_one, _entry("a", ""))})
    assert (found.names, found.known) == ({"listener.name.a.b", "log.dirs", "a"}, {"log.dirs", "a"})


def _found(*brokers: BrokerRelease) -> list[tuple[str, str, str]]:
    facts = with_kafka(releases=dict(enumerate(brokers, 1)))
    return [(one.name, one.severity.value, one.evidence) for one in examined(facts)]


def _broker(
    release: tuple[int, int] | None = (4, 0), *, is_least: bool = False, more: tuple[str, ...] = ()
) -> BrokerRelease:
    known = frozenset({"log.dirs", *more})
    return BrokerRelease(release, is_least, None, known | {"listener.name.a.b"}, known)


@pytest.mark.quick
def test_brokers_of_one_release_that_is_maintained_are_no_finding() -> None:
    own = BrokerRelease((4, 0), True, None, frozenset({"log.dirs", "a.plugin.of.one"}), frozenset({"log.dirs"}))
    assert _found(_broker(is_least=True), own) == []
    assert _found(_broker((3, 9))) == []
    assert _found(_broker(None)) == []


@pytest.mark.quick
def test_an_upgrade_that_was_not_finished_is_found() -> None:
    [(name, severity, evidence)] = _found(_broker((3, 9)), _broker(is_least=True, more=("share.x", "share.y")))
    assert (name, severity) == ("brokers-of-different-releases", "warning")
    assert evidence == (
        "Broker 1 is of 3.9; Broker 2 is of 4.0 or later. "
        "Broker 1 is without settings that others have: share.x, share.y."
    )
    held = BrokerRelease((3, 9), False, (3, 6), frozenset({"a"}), frozenset({"a"}))
    assert _found(held, held) == [
        ("upgrade-unfinished", "warning", f"Brokers 1, 2 are of 3.9, and held at 3.6 ({PROTOCOL}).")
    ]


@pytest.mark.quick
def test_releases_that_are_too_old_are_found() -> None:
    assert _found(_broker((2, 4))) == [("brokers-too-old", "error", "Broker 1 is of 2.4.")]
    assert _found(_broker((3, 8))) == [("brokers-unmaintained", "note", "Broker 1 is of 3.8.")]
    assert _found(_broker((3, 4), is_least=True)) == []
