"""Checks what a task remembers of a partition's rows that its table holds: enough, and never too much."""

from __future__ import annotations

import random

import numpy as np

from connectors.bigquery.write import held_rows
from connectors.bigquery.write.held_rows import HeldRows, Run


def test_rows_of_records_of_any_length_take_no_more_memory_than_others(monkeypatch):
    """Records of as many rows as they like, a few to a batch; each batch but the first has rows of the former's."""
    monkeypatch.setattr(held_rows, "_RUNS_MOST", 400)
    chance, held, written = random.Random(1), HeldRows(0), set()
    for batch in range(40):
        offsets = range(10 * batch, 10 * batch + 11)
        rows = [(offset, n) for offset in offsets for n in range(1, chance.randint(1, 30)) if chance.random() < 0.9]
        chance.shuffle(rows)
        asked = np.array(rows, np.int64).reshape(-1, 2)
        assert held.known_from <= asked[:, 0].min()
        lacking = held.lacking(asked[:, 0], asked[:, 1])
        given = range(len(rows)) if lacking is None else lacking
        assert [rows[row] for row in given] == [row for row in rows if row not in written]
        held.add(asked[:, 0], asked[:, 1])
        written.update(rows)
        assert sum(len(runs) for runs in held._runs.values()) <= 400
    assert held.known_from > 0
    assert held.count < len(written)


def test_a_record_of_more_rows_than_are_remembered_is_asked_for_again(monkeypatch):
    monkeypatch.setattr(held_rows, "_RUNS_MOST", 400)
    held, numbers = HeldRows(7), np.arange(1, 1001)
    held.add(np.full(1000, 7), numbers)
    assert held.known_from == 8
    assert held.count == 0


def test_a_record_that_is_held_without_numbers_is_held_as_a_whole():
    """An earlier release, or a life before the transform was set, wrote its rows without numbers."""
    held = HeldRows(5, [(0, Run(6, 7)), (2, Run(9, 9))])
    rows = [(5, 1), (6, 0), (7, 1), (7, 3), (8, 0), (9, 0), (9, 1), (9, 2)]
    lacking = held.lacking(np.array([row[0] for row in rows]), np.array([row[1] for row in rows]))
    assert lacking is not None
    assert [rows[row] for row in lacking] == [(5, 1), (8, 0), (9, 0), (9, 1)]
