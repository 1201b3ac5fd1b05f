"""Checks each check of the doctor, on plain facts."""

from dataclasses import replace

import pytest
from doctor_faults import FAULTS, LATE, NAMES, SOUND, bounded, held, topic, with_keys, with_sink, with_topic
from doctor_server_faults import SERVER_FAULTS

from connect.api.reach import Reach
from connect.doctor.examination import examined
from connect.doctor.model.facts import (
    GroupFacts,
    NamedThing,
)
from connect.kafka.admin.cluster_state import ClusterState

ALL = FAULTS | SERVER_FAULTS


@pytest.mark.parametrize(
    ("group", "configs"),
    [
        (GroupFacts("g1", {LATE: 0}, {LATE: 0}, {LATE: 2000}), {"retention_bytes": "100000000"}),
        (GroupFacts("g1", {LATE: 1200}, {LATE: 1000}, {LATE: 2000}), {"retention_bytes": "100000000"}),
        (GroupFacts("g1", {LATE: 1000}, {LATE: 1000}, {LATE: 1005}), {"retention_bytes": "100000000"}),
        (GroupFacts("g1", {LATE: 1010}, {LATE: 1000}, {LATE: 2000}), {"retention_bytes": "-1"}),
        (GroupFacts("g1", {LATE: 2000}, {LATE: 1000}, {LATE: 2000}), {"retention_bytes": "100000000"}),
    ],
    ids=["nothing was deleted", "beyond the oldest", "too few to fill it", "as large as it likes", "all is read"],
)
def test_records_that_no_size_endangers_are_no_finding(group: GroupFacts, configs: dict[str, str]):
    facts = replace(
        with_sink(group=group),
        kafka=replace(SOUND.kafka, topics={**SOUND.kafka.topics, "orders": bounded(**configs)}),
    )
    assert "records-deleted-soon" not in {finding.name for finding in examined(facts)}


@pytest.mark.parametrize(
    "configs",
    [{"retention_ms": "-1"}, {"retention_ms": "1", "cleanup_policy": "compact"}, {},
     {"retention_ms": "604800000", "message_timestamp_type": "LogAppendTime"}],
)  # fmt: skip
def test_letters_that_stay_or_have_a_time_of_their_own_are_no_finding(configs: dict[str, str]):
    facts = replace(
        with_sink(config={"errors.deadletterqueue.topic.name": "letters"}),
        kafka=with_topic("letters", topic(**configs)).kafka,
    )
    assert "letters-deleted-soon" not in {finding.name for finding in examined(facts)}


@pytest.mark.quick
def test_a_sound_system_has_no_findings():
    assert examined(SOUND) == []


@pytest.mark.quick
def test_slots_that_were_added_are_no_finding():
    slots = with_topic("g-slots", topic(3, cleanup_policy="compact"))
    assert examined(replace(slots, worker=with_keys(slots="1").worker)) == []


@pytest.mark.quick
@pytest.mark.parametrize("fault", ALL)
def test_a_fault_is_found_with_its_fix(fault):
    facts, severity, evidence, fix = ALL[fault]

    found = [finding for finding in examined(facts()) if evidence in finding.evidence]

    assert found, examined(facts())
    assert {finding.severity.value for finding in found} == {severity}
    assert all(fix in finding.fix and finding.why for finding in found)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("tasks", "offsets"),
    [("1", (9000, 0, 0)), ("2", (900, 0, 0)), ("2", (6000, 1500, 1500)), ("2", (5000, 5000, 0)), ("2", (0, 0, 0))],
    ids=["one task", "few records", "four times as much", "two of three", "empty"],
)
def test_an_uneven_spread_that_costs_nothing_is_no_finding(tasks, offsets):
    facts = with_sink(config={"tasks.max": tasks}, group=held(*offsets))

    assert [finding for finding in examined(facts) if "Partition" in finding.evidence] == []


@pytest.mark.quick
def test_names_of_findings_stay_as_scripts_know_them():
    found = {finding.name for facts, *_ in ALL.values() for finding in examined(facts())}

    assert found == set(NAMES.split())


@pytest.mark.quick
def test_what_a_configuration_reaches_is_listed_by_kind_and_no_fault():
    things = [
        NamedThing(Reach.FILE, "ssl.ca.file", "/ca.pem", "below `allowed.paths`"),
        NamedThing(Reach.HOST, "connection.url", "db:5432", "any machine"),
        NamedThing(Reach.URL, "store.url", "http://s3", "HTTP alone"),
        NamedThing(Reach.CLASS, "connector.class", "S3SinkConnector", "a fixed list"),
        NamedThing(Reach.SQL, "query", "SELECT " + "x" * 999, "run by the database"),
    ]

    found = {finding.name: finding for finding in examined(with_sink(named=things))}

    assert {(name, finding.severity.value, finding.fix) for name, finding in found.items()} == {
        (f"reaches-{kind}", "note", "") for kind in ("files", "hosts", "classes", "sql")
    }
    assert found["reaches-files"].evidence == "It names files of the worker's machine: ssl.ca.file=/ca.pem."
    assert "connection.url=db:5432, store.url=http://s3." in found["reaches-hosts"].evidence
    assert "any machine; HTTP alone." in found["reaches-hosts"].why
    assert len(found["reaches-sql"].evidence) < 300


@pytest.mark.quick
def test_the_worst_comes_first():
    facts = with_keys(allowed_paths="/", listeners="http://0.0.0.0:1")

    found = examined(replace(facts, kafka=ClusterState("gone"), file_notes=["It is worth knowing."]))

    assert [finding.severity.value for finding in found] == ["error", "warning", "note", "note", "note"]


@pytest.mark.quick
def test_no_broker_is_the_only_thing_said_of_kafka():
    found = examined(replace(SOUND, kafka=ClusterState(trouble="gone")))

    assert [finding.evidence for finding in found] == ["gone"]


def test_a_class_that_is_not_here_is_told_without_all_that_are():
    said = "Failed to find any class that implements Connector, available connectors are: PluginDesc{klass=class a.B}"
    sink = with_sink()
    [sound] = sink.connectors
    facts = replace(sink, connectors=[replace(sound, errors={"connector.class": [said]}, failures={"connector": said})])
    told = [finding.evidence for finding in examined(facts) if finding.name in {"broken-key", "failed"}]
    assert len(told) == 2
    assert all("`connect plugins` lists" in text and "PluginDesc" not in text for text in told)
