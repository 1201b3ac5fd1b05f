"""Shows what a sink costs a day: bytes and money for each way to write, and which way fits (check 10). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from connect.poc.report.estimate import LOAD
from connect.poc.sandbox.result import Check, Outcome, Table

_GIB: Final = 2**30
_COLUMNS: Final = ("mode", "GiB a day", "USD a day", "how soon", "", "why")


def judge_costs(tables: Iterable[Mapping[str, Any]]) -> Check:
    """Return the check for the answers of `PricedSink.costs`, given as values of JSON.

    It warns if a table costs more by the configured way to write than by the one that fits.
    """
    shown, told, is_dear, priced = [], [], False, False
    for table in tables:
        modes = table["modes"]
        shown.append(Table(f"{table['table']}: {table['facts']}", _COLUMNS, [_row(mode) for mode in modes]))
        fits = next((mode for mode in modes if mode["fits"]), None)
        as_set = next((mode for mode in modes if mode["is_set"]), None)
        priced = priced or bool(modes)
        if as_set is not None:
            told.append(f"{table['table']} costs about {as_set['usd_per_day']:,.2f} USD a day as it is set.")
        if fits is not None and fits is not as_set:
            told.append(f"{fits['mode']} fits it, for about {fits['usd_per_day']:,.2f} USD.")
        if fits is not None and as_set is not None:
            is_dear = is_dear or as_set["usd_per_day"] > max(1.0, fits["usd_per_day"])
    outcome = Outcome.WARN if is_dear else Outcome.PASS if priced else Outcome.NOT_TESTED
    return Check(*LOAD, outcome, " ".join(told) or "What comes in a day is not known, so nothing is priced.", shown)


def _row(mode: Mapping[str, Any]) -> tuple[str, ...]:
    more = " and more" if mode["is_lower_bound"] else ""
    marks = ", ".join(word for word, key in (("as set", "is_set"), ("fits", "fits")) if mode[key])
    size, usd = f"{mode['bytes_per_day'] / _GIB:,.2f}", f"{mode['usd_per_day']:,.2f}{more}"
    return mode["mode"], size, usd, mode["freshness"], marks, mode["why"]
