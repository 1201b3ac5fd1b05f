"""The house's rules hold but for the exceptions listed by name, and that list only shrinks.

After mending one, or after a move: `python tests/shape/test_shape_house.py` writes the list anew, and refuses to where
an exception came that is no moved one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from house_rules import RULES
from plain_prose import has_main_verb, is_plain

LISTED = Path(__file__).with_name("exceptions.json")


def listed() -> Mapping[str, list[str]]:
    """Return the exceptions of each rule that stand today."""
    return json.loads(LISTED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("rule", RULES)
def test_no_exception_is_new_or_outlived(rule: str) -> None:
    known, found = set(listed().get(rule, [])), set(RULES[rule]())
    assert sorted(found - known) == [], f"{rule}: mend these"
    assert sorted(known - found) == [], f"{rule}: these are mended, so run python tests/shape/test_shape_house.py"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Return the offsets of a task.", True),
        ("A batch that holds rows of one topic.", True),
        ("True if this range was read to its end.", True),
        ("Of all of them.", False),
        ("Whether that was stored.", False),
        ("Were it gone, the reset tells.", False),
        ("Rows per batch.", False),
        ("The topic's files.", False),
    ],
)
def test_plain_sentences_are_told_from_riddles(text: str, plain: bool) -> None:
    assert is_plain(text) is plain


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Runs Kafka on loopback.", True),
        ("Checks what a sink does with bad rows.", True),
        ("A sink whose topic is missing keeps asking for it: nothing fails.", True),
        ("Rows that a sink refuses are dead letters.", True),
        ("Rows into tables: from topics by a worker, killed under way.", False),
        ("A sink whose topic is missing: nothing fails.", False),
        ("What rows cost that nobody reads.", False),
        ("Fixtures of the tests.", False),
    ],
)
def test_sentences_are_told_from_headlines(text: str, says: bool) -> None:
    assert has_main_verb(text) is says


def write_list() -> str:
    """Write the list anew and tell how many exceptions each rule has; end where a rule has more than before."""
    before = listed() if LISTED.exists() else {}
    found = {rule: sorted(check()) for rule, check in RULES.items()}
    more = {rule: len(names) for rule, names in found.items() if before and len(names) > len(before.get(rule, []))}
    if more:
        sys.exit(f"More exceptions than before: {more}")
    LISTED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return ", ".join(f"{rule}: {len(names)}" for rule, names in found.items())


if __name__ == "__main__":
    sys.stdout.write(write_list() + "\n")
