"""Transforms apply in order, for the rows their predicate selects, and bad rows are named with the transform."""

import pyarrow as pa
import pyarrow.compute as pc

from connect.api.records import Batch, Column
from connect.api.schema import INT64
from connect.runtime.records.chain import Link, apply_chain


class AddOne:
    def apply(self, batch):
        from dataclasses import replace

        return [replace(batch, values=Column.from_arrow(pc.add(batch.values.arrow(), 1), INT64))]


class DropOdd:
    def apply(self, batch):
        return [batch.take([i for i, v in enumerate(batch.values.rows()) if v % 2 == 0])]


class FailAtSeven:
    def apply(self, batch):
        if 7 in batch.values.rows():
            raise ValueError("seven")
        return [batch]


class Big:
    def test(self, batch):
        return pc.greater(batch.values.arrow(), 10)


def batch(*values):
    return Batch("t", Column.from_arrow(pa.array(values, pa.int64()), INT64))


def values(batches):
    return [v for b in batches for v in b.values.rows()]


def no_reject(name, part, rows):
    raise AssertionError((name, rows))


def test_transforms_apply_in_order():
    links = [Link("add", AddOne()), Link("drop", DropOdd())]
    assert values(apply_chain(links, batch(1, 2, 3), no_reject)) == [2, 4]


def test_a_predicate_selects_rows_and_their_order_is_kept():
    links = [Link("add", AddOne(), Big())]
    assert values(apply_chain(links, batch(1, 20, 2, 30, 31), no_reject)) == [1, 21, 2, 31, 32]


def test_negate_turns_the_predicate_round():
    links = [Link("add", AddOne(), Big(), negate=True)]
    assert values(apply_chain(links, batch(1, 20), no_reject)) == [2, 20]


class DropAll:
    drops_every_row = True

    def apply(self, batch):
        return []


class Odd:
    def test(self, batch):
        return pc.equal(pc.bit_wise_and(batch.values.arrow(), 1), 1)


def test_dropping_scattered_rows_leaves_one_batch():
    made = apply_chain([Link("filter", DropAll(), Odd())], batch(*range(100)), no_reject)
    assert len(made) == 1
    assert values(made) == list(range(0, 100, 2))


def test_scattered_rows_are_transformed_in_place():
    made = apply_chain([Link("add", AddOne(), Odd())], batch(*range(100)), no_reject)
    assert values(made) == [n + n % 2 for n in range(100)]


class DropSeen:
    """Remembers what it was given, as a function that drops doubles does."""

    def __init__(self):
        self.seen = set()

    def apply(self, batch):
        kept = [i for i, v in enumerate(batch.values.rows()) if v not in self.seen]
        self.seen |= {*batch.values.rows()}
        return [batch.take(kept)]


def test_a_transform_gets_each_scattered_row_once():
    links = [Link("drop", DropSeen(), Odd())]
    assert values(apply_chain(links, batch(*range(100)), no_reject)) == [*range(100)]
    assert values(apply_chain(links, batch(*range(101)), no_reject)) == [*range(0, 101, 2)]


def test_a_batch_whose_rows_are_all_dropped_is_gone():
    assert apply_chain([Link("drop", DropOdd())], batch(1, 3), no_reject) == []


def test_a_bad_row_is_named_with_its_transform_and_leaves_the_others_alone():
    rejected = []
    links = [Link("fail", FailAtSeven()), Link("add", AddOne())]

    def reject(name, part, rows):
        rejected.append((name, [part.values.rows()[i] for i in rows]))

    assert values(apply_chain(links, batch(5, 6, 7, 8), reject)) == [6, 7, 9]
    assert rejected == [("fail", [7])]
