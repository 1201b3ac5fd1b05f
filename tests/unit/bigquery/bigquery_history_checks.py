"""Compares the rows of a table with what the README promises of the records that were sent."""

from __future__ import annotations

from collections import Counter
from typing import Any

from bigquery_history_log import Promise, Sent, has_text, is_same

from connectors.bigquery.dedup.side_tables import MODE_LABEL, REASON_LABEL
from connectors.bigquery.modes.auto import CHANGING


class PromisedRows:
    """Checks rows by one promise. `log` are the records sent for a table, `alive` its rows that are not deleted."""

    def __init__(self, promise: Promise) -> None:
        self._promise = promise

    def each(self, log: list[Sent], rows: list[dict[str, Any]]) -> None:
        """Check that each record is a row, once."""
        found = Counter(row["text"] for row in rows)
        wanted = Counter(one.value["text"] for one in log if one.value is not None and not one.is_bad)
        assert found == wanted, f"too many {found - wanted}, missing {wanted - found}"

    def rows(self, log: list[Sent], alive: list[dict[str, Any]]) -> None:
        """Check that each key has one row, and that the row is the record which the README promises."""
        promise, of_text = self._promise, {one.value["text"]: one for one in log if has_text(one)}
        keyless = Counter(one.value["text"] for one in promise.keyless(log))
        found_keyless = Counter(row["text"] for row in alive if row["text"] in keyless)
        assert found_keyless == keyless, f"rows of their own: {found_keyless} for {keyless}"
        keyed = [row for row in alive if row["text"] not in keyless]
        found = {promise.identity(of_text[row["text"]]): row["text"] for row in keyed}
        assert len(found) == len(keyed), f"a key has two rows: {sorted(row['text'] for row in keyed)}"
        wanted: dict[tuple[Any, ...], set[str]] = {}
        for identity, records in promise.of_rows(log).items():
            left = promise.left(records)
            if promise.keep == "first":
                wanted[identity] = {one.value["text"] for one in records}
                continue
            last = max(left, key=promise.order, default=None)
            gone = [one for one in records if one not in left and one.value is not None]
            if last is not None and any(promise.order(one) > promise.order(last) for one in gone):
                # What lost against a row of another partition does not come back when a tombstone removes that one.
                if identity in found:
                    wanted[identity] = {one.value["text"] for one in left}
            elif last is not None and not promise.deletes(last):
                wanted[identity] = {last.value["text"]}
        assert found.keys() == wanted.keys(), f"rows {found}, wanted {wanted}"
        wrong = {identity: (text, wanted[identity]) for identity, text in found.items() if text not in wanted[identity]}
        assert not wrong, f"rows and what they should be: {wrong}"


def check_values(log: list[Sent], alive: list[dict[str, Any]]) -> None:
    """Check that each row has the values of its record, as they were."""
    of_text = {one.value["text"]: one for one in log if has_text(one)}
    for row in alive:
        value = of_text[row["text"]].value
        for name in ("id", "region", "version", "gone", "f", "more"):
            assert is_same(row.get(name), value.get(name)), f"{name} of {value} became {row}"


def check_budget(billed: list[tuple[float, str, int]], budget_bytes: int) -> None:
    """Check that no day was billed for more than the budget; 0: there is none."""
    days: Counter[int] = Counter()
    for at_s, _, billed_bytes in billed:
        days[int(at_s // 86_400)] += billed_bytes
    assert not budget_bytes or max(days.values()) <= budget_bytes, f"billed a day: {days}"


def check_views(changed_by: list[tuple[str, dict[str, str], str]]) -> None:
    """Check that no statement has changed rows of a table once a view had taken it over."""
    for table, labels, sql in changed_by:
        is_taken = labels.get(MODE_LABEL) == "view" and labels.get(REASON_LABEL) != CHANGING
        assert not is_taken, f"a statement changes table {table} of a view: {sql}"
