"""Judges what each column of the database becomes on its way, and what is lost (check 4). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from connect.api.optional.origins import Kept
from connect.lib.printable import counted
from connect.poc.sandbox.result import Check, Outcome, Table

TYPES: Final = (4, "Types")
_NAMED: Final = 5
"""The summary names this many fields of each kind; the others are only counted."""
_Field = Mapping[str, Any]


def judge_types(sample: Mapping[str, Any]) -> Check:
    """Judge from a sample (`connect.poc.source.sample.Sample` as JSON) if fields keep their types and values."""
    fields = list(sample["fields"].values())
    if not fields:
        return Check(*TYPES, Outcome.NOT_TESTED, "There are no rows, or a transform makes other rows of them.")
    origins = sample["origins"]
    table = Table(
        "Each field on its way",
        (
            "field",
            "in the source",
            "in Connect",
            "in JSON",
            "in Avro",
            "read back as",
            "lost",
            "rows",
            "null",
            "example",
        ),
        [_row(field, (origins or {}).get(field["field"])) for field in fields],
    )
    known = [(field, origins[field["field"]]) for field in fields if field["field"] in origins] if origins else []
    changed = [field for field in fields if field["source"] != field["back"]]
    in_part = [(f, o) for f, o in known if o["kept"] == Kept.IN_PART]
    untyped = [(f, o) for f, o in known if o["kept"] == Kept.UNTYPED]
    named = [field["field"] for field, _ in known] or [field["field"] for field in fields]
    lost = {f["field"] for f in changed} | {f["field"] for f, _ in (*in_part, *untyped)}
    said = [
        _kept(sum(name not in lost for name in named), len(named), sample, is_known=bool(known)),
        _said(in_part, "is lossy", "are lossy"),
        _said([pair for pair in untyped if pair[1]["lost"]], "loses its structure", "lose their structure"),
        _said(
            [pair for pair in untyped if not pair[1]["lost"]], "gets a type that says less", "get types that say less"
        ),
        _said([(f, None) for f in changed], "is read back as another type", "are read back as other types"),
    ]
    is_lossy = bool(in_part or changed or any(origin["lost"] for _, origin in untyped))
    return Check(
        *TYPES, Outcome.WARN if is_lossy else Outcome.PASS, " ".join(filter(None, said)), (table,),
        defects=frozenset({"lossy"}) if in_part else frozenset(),
    )  # fmt: skip


def _row(field: _Field, origin: Mapping[str, str] | None) -> tuple[str, ...]:
    return (
        field["field"], origin["type"] if origin else "not told", field["source"], field["json"], field["avro"],
        field["back"], _lost(field, origin), f"{field['rows']:,}", f"{field['nulls']:,}", field["example"],
    )  # fmt: skip


def _lost(field: _Field, origin: Mapping[str, str] | None) -> str:
    found = [origin["lost"] or "the type's name"] if origin and origin["kept"] != Kept.TYPED else []
    if field["source"] != field["back"]:
        found.append("the Connect type, in Kafka's bytes")
    return "; ".join(found) or ("" if origin else "not told")


def _kept(whole: int, of: int, sample: Mapping[str, Any], *, is_known: bool) -> str:
    number = f"{whole} of {counted(of, 'field')}"
    if whole == of:
        number = "The only field" if of == 1 else f"All {counted(of, 'field')}"
    verb = "keeps its type" if of == 1 else "keep their types"
    if is_known:
        return f"{number} {verb} from the database through Kafka."
    why = f" ({sample['unknown_why']})" if sample["unknown_why"] else ""
    return f"{number} {verb} through Kafka; what the database calls them, the connector does not tell{why}."


def _said(found: Sequence[tuple[_Field, Mapping[str, str] | None]], one: str, many: str) -> str:
    """Return a sentence with the first fields of a kind; empty if there are none."""
    if not found:
        return ""
    names = [field["field"] + (f" ({_why(origin)})" if origin else "") for field, origin in found[:_NAMED]]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"{len(found)} {one if len(found) == 1 else many}: {', '.join(names)}{more}."


def _why(origin: Mapping[str, str]) -> str:
    return f"{origin['type']}: {origin['lost']}" if origin["lost"] else origin["type"]
