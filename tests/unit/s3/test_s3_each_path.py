"""Each file ends by itself: what that lets be committed, and what is not written again."""

from __future__ import annotations

from s3_lives import Bucket, Life, Row, rows

from connectors.s3.files.rotation import Rules


def life(bucket: Bucket | None = None, committed: int = 0, **rules: object) -> Life:
    return Life(bucket or Bucket(), Rules(**{"rows": 100, **rules}), committed, is_together=False)


def on(*paths: str, first: int = 0) -> list[Row]:
    return [Row(first + n, path, first + n, first + n) for n, path in enumerate(paths)]


def numbers_by_key(of: Life) -> dict[str, list[int]]:
    return {key.split("/", 2)[2]: numbers for key, (_, numbers) in sorted(of.bucket.objects.items())}


def test_a_full_file_ends_alone_and_the_least_open_row_holds_the_commit():
    one = life(rows=2)
    one.put(on("a", "b", "a", "c", "c", "a"), 6)
    assert one.flush() == 1
    assert numbers_by_key(one) == {"p=a/t+3+0000.json": [0, 2], "p=c/t+3+0003.json": [3, 4]}


def test_a_successor_that_begins_in_the_midst_of_an_object_writes_what_is_missing():
    former = life(rows=2)
    former.put(on("a", "b", "a", "c", "c", "a"), 6)
    former.flush()
    heir = former.successor()
    assert heir.committed == 1
    heir.put(on("b", "a", "c", "c", "a", "b", first=1), 7)
    assert heir.flush() == 5
    assert heir.bucket.numbers() == [0, 1, 2, 3, 4, 6]
    assert heir.files.rows_already_there == 3


def test_where_all_rows_are_in_objects_the_commit_moves_on():
    former = life(rows=2)
    former.put(on("a", "a", "b", "b"), 4)
    former.flush()
    again = life(former.bucket)
    again.put(on("a", "a", "b", "b"), 4)
    assert again.flush() == 4
    assert len(again.bucket.objects) == 2


def test_a_path_with_few_rows_does_not_hold_the_commit_for_ever():
    slow = life(rows=4, ends_slow_files=True)
    slow.put(on("rare", *["often"] * 3), 4)
    assert slow.flush() == 0
    slow.put(on(*["often"] * 8, first=4), 12)
    assert slow.flush() == 9
    assert numbers_by_key(slow)["p=rare/t+3+0000.json"] == [0]


def test_of_too_many_open_files_the_oldest_ends():
    many = life(max_paths=2)
    many.put(on("a", "b", "a", "c"), 4)
    assert many.flush() == 1
    assert numbers_by_key(many) == {"p=a/t+3+0000.json": [0, 2]}


def test_a_late_record_of_any_path_ends_the_files_that_are_older():
    timed = life(interval_ms=3)
    timed.put(on("a", "b", "b", "b", "a"), 5)
    assert timed.flush() == 4
    assert numbers_by_key(timed) == {"p=a/t+3+0000.json": [0], "p=b/t+3+0001.json": [1, 2, 3]}


def test_a_file_ends_by_its_own_bytes():
    sized = life(size_bytes=20)
    sized.put(on("a", "b", "a", "a"), 4)
    assert sized.flush() == 1
    assert numbers_by_key(sized) == {"p=a/t+3+0000.json": [0, 2]}


def test_the_largest_files_make_room():
    full = life()
    full.put(on("a", *["b"] * 50), 51)
    full.files.settle()
    full.files.end_largest(200)
    assert full.flush() == 0
    assert list(numbers_by_key(full)) == ["p=b/t+3+0001.json"]


def test_a_rival_that_was_first_leaves_the_rest():
    bucket = Bucket()
    old, new = life(bucket, rows=3), life(bucket, rows=3)
    old.put(rows(0, 1, 2), 3)
    new.put(rows(0, 1), 2)
    assert old.flush() == 3
    new.end_files()
    assert new.flush() == 2
    new.put(rows(2, 3, 4, 5), 6)
    assert new.flush() == 6
    assert bucket.numbers() == [0, 1, 2, 3, 4, 5]
