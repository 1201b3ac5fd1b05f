"""Checks sets of MySQL's transaction identifiers: they are as a set of numbers would be, in text and in the server's
bytes.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.jdbc.log.binlog.gtid_set import GtidSet, previous_gtids
from connectors.jdbc.log.binlog.position import gtids_of

SERVERS = ("24716d4e-e63e-11f1-859d-02fc00000001", "00000000-0000-0000-0000-0000000000ff")


def _numbers(text: str) -> set[int]:
    spans = [span.partition("-") for span in text.split(":")[1:]]
    return {number for first, _, last in spans for number in range(int(first), int(last or first) + 1)}


@given(st.lists(st.tuples(st.sampled_from(SERVERS), st.integers(1, 30))))
def test_a_set_has_what_was_added_in_the_fewest_ranges(added):
    made = GtidSet({})
    for server, number in added:
        made.add(server, number)
    parts = made.parts()
    for server in SERVERS:
        wanted = {number for its, number in added if its == server}
        text = parts.get(server, "")
        assert _numbers(text) == wanted
        assert len(re.findall(":", text)) == len([n for n in wanted if n - 1 not in wanted])
    again = previous_gtids(made.encoded())
    assert (again is None) == (not added)
    assert again is None or again.parts() == parts == GtidSet(gtids_of(",\n".join(parts.values()))).parts()


def test_texts_of_other_forms_are_no_set():
    tagged = f"{SERVERS[0]}:tag:1-5"
    assert gtids_of(f"{SERVERS[1]}:1-2,{tagged}") == {}
    assert gtids_of("0-1-7,3-2-9") == {"0": "0-1-7", "3": "3-2-9"}
    with pytest.raises(ValueError, match="no set"):
        GtidSet({SERVERS[0]: tagged})


def test_a_domain_goes_on_behind_the_last_one_of_its_servers():
    """Debezium's MariaDB connector lists the last transaction of each server that wrote to a domain."""
    for text in ("0-1-150,0-2-120,3-2-9", "0-2-120,3-2-9,0-1-150"):
        assert gtids_of(text) == {"0": "0-1-150", "3": "3-2-9"}
