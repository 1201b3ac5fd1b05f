"""Polls with few rows for each of many open files are held together; that changes no file."""

from __future__ import annotations

from s3_lives import Bucket, Life, Row

from connectors.s3.files.rotation import Rules


def log(rows: int, paths: int) -> list[Row]:
    return [Row(n, f"v{n * 7 % paths:03d}", n, n) for n in range(rows)]


def written(poll_rows: int, rules: Rules, until: int) -> Bucket:
    life = Life(Bucket(), rules, is_together=False)
    given = log(4000, 300)
    for start in range(0, until, poll_rows):
        rows = given[start : start + poll_rows]
        life.put(rows, rows[-1].offset + 1)
    life.flush()
    life.end_files()
    life.flush()
    return life.bucket


def test_objects_are_the_same_however_many_rows_a_poll_has():
    rules = Rules(rows=11, size_bytes=150)
    one, many = written(4000, rules, 4000), written(40, rules, 4000)
    assert one.objects == many.objects
    assert many.numbers() == list(range(4000))


def test_what_is_held_is_no_offset_to_commit_and_counts_as_memory():
    life = Life(Bucket(), Rules(rows=1000), is_together=False)
    given = log(900, 300)
    for start in range(0, 900, 100):
        life.put(given[start : start + 100], start + 100)
    life.files.end_poll()
    before = life.files.open_bytes
    life.put(log(901, 300)[900:], 901)
    life.files.end_poll()
    assert life.files.open_bytes > before
    assert life.flush() == 0
    assert life.files.open_files == 300


def test_the_clock_ends_files_with_the_rows_that_were_held():
    life = Life(Bucket(), Rules(rows=1000), is_together=False)
    given = log(600, 300)
    for start in range(0, 600, 100):
        life.put(given[start : start + 100], start + 100)
    life.end_files()
    life.upload()
    assert life.bucket.numbers() == list(range(600))
    assert len(life.bucket.objects) == 300
