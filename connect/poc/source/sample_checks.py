"""Judges a source by a sample: discovery, types, round trip and cursor (checks 3 to 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from connect.lib.printable import counted
from connect.poc.sandbox.children import GRACE_S, asked_of, reason_of
from connect.poc.sandbox.result import Check, Outcome, Table
from connect.poc.sandbox.row_values import without_values
from connect.poc.source.type_check import TYPES, judge_types
from connect.runtime.parts.connector_settings import ConnectorSettings

DISCOVER = (3, "Discovery")
ROUND_TRIP = (5, "Round trip")
CURSOR = (6, "Cursor")


def check_sample(
    settings: ConnectorSettings, rows: int, timeout_s: float, *, show_values: bool, grace_s: float = GRACE_S
) -> list[Check]:
    """Take the sample in a child process and judge it."""
    sample = asked_of(settings, "sample", timeout_s, grace_s=grace_s, rows=rows, show_values=show_values)
    if not show_values:
        _hide_values(sample, settings)
    why = reason_of(sample)
    if why is not None:
        return [
            Check(*DISCOVER, Outcome.FAIL, f"The connector gave no sample: {why}"),
            *(Check(*name, Outcome.NOT_TESTED, "There is no sample.") for name in (TYPES, ROUND_TRIP, CURSOR)),
        ]
    if sample["kept"] is not None:
        why = (
            f"The connector keeps a {sample['kept']} in the source, and a trial would move it on for its owner: "
            "evaluate a copy of the database, or another mode."
        )
        return [Check(*name, Outcome.NOT_TESTED, why) for name in (DISCOVER, TYPES, ROUND_TRIP, CURSOR)]
    return [_discovered(sample), judge_types(sample), _round_trip(sample), _cursor(sample)]


def _hide_values(sample: dict[str, Any], settings: ConnectorSettings) -> None:
    known = [text for pair in settings.connector.items() for text in pair]
    if "error" in sample:
        sample["error"] = without_values(sample["error"], known)
        return
    known += [part for path in sample["fields"] for part in (path, path.rpartition(".")[2])]
    sample["warnings"] = [without_values(text, known) for text in sample["warnings"]]


def _discovered(sample: Mapping[str, Any]) -> Check:
    topics = Table("Topics of the sample", ("topic", "rows"), [(t, f"{n:,}") for t, n in sample["topics"].items()])
    if not sample["rows"]:
        text = f"{counted(sample['tasks'], 'task')}, and none gave a row: nothing matches, or it is empty."
        return Check(*DISCOVER, Outcome.WARN, text, defects=frozenset({"empty"}))
    rows, of_topics = counted(sample["rows"], "row"), counted(len(sample["topics"]), "topic")
    text = f"{counted(sample['tasks'], 'task')}; {rows} of {of_topics} sampled."
    return Check(*DISCOVER, Outcome.PASS, text, (topics,))


def _round_trip(sample: Mapping[str, Any]) -> Check:
    changed = {f["field"]: f["changed"] for f in sample["fields"].values() if f["changed"]}
    refused = Table("Rows that could not be converted", ("error",), [(text,) for text in sample["refused"]])
    if changed:
        table = Table("Values that came back otherwise", ("where",), [(text,) for text in sample["differences"]])
        names = ", ".join(f"{name} ({counted(count, 'row')})" for name, count in list(changed.items())[:5])
        text = f"Values change on their way: {names}."
        return Check(*ROUND_TRIP, Outcome.FAIL, text, (table,), defects=frozenset({"lossy"}))
    if sample["refused"]:
        text = f"{counted(sample['refused_rows'], 'row')} could not be converted, or were not given."
        return Check(*ROUND_TRIP, Outcome.FAIL, text, (refused,), defects=frozenset({"refused"}))
    compared, rows = sample["compared_rows"], sample["rows"]
    if not compared:
        return Check(*ROUND_TRIP, Outcome.NOT_TESTED, "No row could be compared.")
    text = f"Every value of {counted(compared, 'row')} came back equal from Kafka's bytes."
    if compared < rows:
        text += f" Of {counted(rows - compared, 'more row')} transforms made other records, which were not compared."
    return Check(*ROUND_TRIP, Outcome.PASS, text)


def _cursor(sample: Mapping[str, Any]) -> Check:
    said = [(text,) for text in sample["warnings"]]
    tables = [Table("What the connector warns of", ("warning",), said)] if said else []
    pages = sample["pages"]
    if pages is not None and pages["missing"]:
        key, (one, other) = pages["key"], pages["sizes"]
        text = f"{pages['missing']:,} of {pages['compared']:,} rows are read with one of {key}={one} and {other} only"
        if pages["is_steady"]:
            text += ": rows at the end of a page, such as ties of the cursor, are skipped."
            return Check(*CURSOR, Outcome.FAIL, text, tables, defects=frozenset({"lost"}))
        return Check(*CURSOR, Outcome.NOT_TESTED, f"{text}, but the rows change while they are read.", tables)
    if said:
        more = f" And {len(said) - 1} more." if len(said) > 1 else ""
        return Check(*CURSOR, Outcome.WARN, f"The connector warns: {sample['warnings'][0]}{more}", tables)
    if pages is None:
        return Check(*CURSOR, Outcome.NOT_TESTED, "The connector has no key for the rows of one read, or gave no rows.")
    key, (one, other) = pages["key"], pages["sizes"]
    text = f"{pages['compared']:,} rows are the same with {key}={one} and {other}, so no tie is skipped between reads."
    return Check(*CURSOR, Outcome.PASS, text)
