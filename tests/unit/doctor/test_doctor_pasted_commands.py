"""Checks that commands which the doctor gives to paste hold no command of whoever chose a name."""

import shlex
from dataclasses import replace

import pytest
from doctor_faults import LATE, NOW, SINK, SOUND

from connect.api.records import TopicPartition
from connect.doctor.examination import examined
from connect.doctor.model.facts import CertificateFacts, FolderFacts, GroupFacts, MachineFacts


@pytest.mark.quick
def test_no_name_that_others_chose_is_a_command_in_a_text_to_paste():
    hostile = "o; reboot"
    unread = GroupFacts("connect-late", {}, {LATE: 0}, {LATE: 9})
    facts = replace(
        SOUND,
        connectors=(
            replace(SINK, name=hostile, group=unread),
            replace(SINK, topics=(hostile,), group=None),
            replace(SINK, topics=("orders", hostile), config={"tasks.max": "9"}, group=None),
            replace(
                SINK,
                config={"tasks.max": "2"},
                group=GroupFacts("g", {}, {}, {TopicPartition(hostile, 0): 5000, TopicPartition(hostile, 1): 0}),
            ),
        ),
        certificates=(CertificateFacts("connector late, ssl.ca", f"/{hostile}", NOW),),
        machine=MachineFacts([FolderFacts(f"/{hostile}", 0, 9)]),
    )

    fixes = [finding.fix for finding in examined(facts) if hostile in finding.fix]

    assert {fix.split()[0] for fix in fixes} == {"connect", "df", "kafka-get-offsets.sh", "kafka-topics.sh", "openssl"}
    assert all(shlex.split(fix, comments=True) and hostile not in _unquoted(fix) for fix in fixes), fixes


def _unquoted(line: str) -> str:
    return "".join(line.split("'")[::2])
