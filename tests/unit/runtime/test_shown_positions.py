"""Checks positions without secrets, and what they mean when a client gives them back."""

import time

import pytest

from connect.lib.secrets import HIDDEN
from connect.runtime.source.shown_positions import has_mask, meant, shown

STORED = [({"file": "/s3cr3t/a", "n": 1}, {"at": 7, "in": ["s3cr3t", None]}), ({"s3cr3t": "b"}, None)]


def hide(text: str) -> str:
    return text.replace("s3cr3t", "[hidden]")


SHOWN = [({"file": "/[hidden]/a", "n": 1}, {"at": 7, "in": ["[hidden]", None]}), ({"[hidden]": "b"}, None)]


def test_texts_are_shown_without_secrets_however_deep_they_are() -> None:
    assert shown(STORED, hide) == SHOWN
    assert shown(STORED[1:], lambda _: "[hidden]", names=False) == [({"s3cr3t": "[hidden]"}, None)]
    assert [has_mask(one) for one in (*SHOWN, *STORED, 7)] == [True, True, False, False, False]


def test_what_was_shown_stands_for_what_is_stored() -> None:
    assert meant(SHOWN, STORED, SHOWN) == STORED
    changed = [(SHOWN[0][0], {"at": 9, "in": SHOWN[0][1]["in"]}), ({"file": "/c"}, {"at": 1})]
    assert meant(changed, STORED, SHOWN) == [
        (STORED[0][0], {"at": 9, "in": ["s3cr3t", None]}),
        ({"file": "/c"}, {"at": 1}),
    ]
    assert meant([(SHOWN[0][0], None)], STORED, SHOWN) == [(STORED[0][0], None)]


def test_a_mask_that_stands_for_nothing_or_for_two_is_refused() -> None:
    with pytest.raises(ValueError, match="none is stored"):
        meant([({"file": "/[hidden]/b"}, None)], STORED, SHOWN)
    with pytest.raises(ValueError, match="2 are stored that look so"):
        meant(SHOWN[:1], [*STORED, *STORED], [*SHOWN, *SHOWN])
    with pytest.raises(ValueError, match="Give it in full"):
        meant([(SHOWN[0][0], {"at": "[hidden]"})], STORED, SHOWN)


def test_many_masked_positions_are_found_in_time_linear_in_their_number():
    stored = [({"file": f"{number}"}, {"position": "p"}) for number in range(20_000)]
    as_shown = [(partition, {"position": HIDDEN}) for partition, _ in stored]
    began_s = time.process_time()
    assert meant(as_shown[::-1], stored, as_shown) == stored[::-1]
    assert time.process_time() - began_s < 5, "each was looked for among all"
