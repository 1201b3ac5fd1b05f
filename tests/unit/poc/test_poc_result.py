"""The verdict, its exit code, and a report that shows no secret and runs no row."""

from __future__ import annotations

import json
import re

import pytest

from connect.api.errors import ConfigError
from connect.lib.printable import counted
from connect.plugins.catalog import Catalog
from connect.poc.report.report import html_report
from connect.poc.sandbox.options import seconds_of
from connect.poc.sandbox.result import Check, Outcome, Result, Setting, Table, Verdict
from connect.poc.sandbox.secrecy import Secrecy

HOSTILE = "<script>alert(1)</script>\u202e😀"


def result(*outcomes: Outcome, **more) -> Result:
    checks = [Check(i, f"check {i}", outcome, f"summary {i}") for i, outcome in enumerate(outcomes, 1)]
    return Result("poc-1", {"c": more.pop("config", {})}, 0.0, 1.0, checks, **more)


@pytest.mark.parametrize(
    ("outcomes", "verdict", "code"),
    [
        ([Outcome.PASS, Outcome.PASS], Verdict.FITS, 0),
        ([Outcome.PASS, Outcome.NOT_TESTED], Verdict.FITS, 0),
        ([Outcome.PASS, Outcome.WARN], Verdict.FITS_WITH_WARNINGS, 1),
        ([Outcome.WARN, Outcome.FAIL, Outcome.PASS], Verdict.DOES_NOT_FIT, 2),
        ([Outcome.NOT_TESTED], Verdict.NOT_TESTED, 3),
        ([], Verdict.NOT_TESTED, 3),
    ],
)
def test_the_worst_outcome_decides(outcomes, verdict, code):
    found = result(*outcomes)
    assert (found.verdict, found.exit_code()) == (verdict, code)


def test_a_defect_that_the_caller_names_fails_a_result_with_warnings():
    warned = Result("i", {"c": {}}, 0, 0, [Check(8, "n", Outcome.WARN, "s", defects=frozenset({"duplicate"}))])
    assert (warned.exit_code(), warned.exit_code(frozenset({"duplicate"})), warned.exit_code(frozenset({"lost"}))) == (
        1,
        2,
        1,
    )


def test_one_is_counted_in_the_singular():
    assert [counted(count, "row") for count in (0, 1, 2, 10_000)] == ["0 rows", "1 row", "2 rows", "10,000 rows"]


def test_the_worst_reasons_come_first():
    found = result(Outcome.PASS, Outcome.WARN, Outcome.FAIL, Outcome.PASS)
    assert found.reasons == ["summary 3", "summary 2", "summary 1"]


def test_a_report_needs_no_network_and_runs_no_value():
    table = Table(HOSTILE, (HOSTILE,), [(HOSTILE,)])
    check = Check(1, HOSTILE, Outcome.WARN, HOSTILE, (table,), (Setting(HOSTILE, HOSTILE, HOSTILE),))
    page = html_report(Result("i", {HOSTILE: {HOSTILE: HOSTILE}}, 0, 0, [check], {HOSTILE: HOSTILE}))
    assert "<script>alert" not in page
    assert re.findall(r"(?:src|href)\s*=|url\(|@import", page) == []
    shown = page.partition('<script type="application/json"')[0]
    assert "\u202e" not in shown, "which would turn the words behind it round"
    assert r"&lt;script&gt;alert(1)&lt;/script&gt;\u202e😀" in shown
    embedded = re.search(r'<script type="application/json" id="result">(.*?)</script>', page, re.DOTALL)
    assert json.loads(embedded[1])["connector"] == HOSTILE


def test_no_text_of_a_result_holds_a_secret():
    config = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector", "connection.password": "hunter-2222",
        "connection.url": "jdbc:postgresql://h/db?user=u&password=hunter-3333",
    }  # fmt: skip
    table = Table("t", ("a",), [("login with hunter-2222 refused",)])
    check = Check(2, "Reach", Outcome.FAIL, "hunter-3333 is wrong", (table,))
    shown = Secrecy(Catalog.installed(), config).of_result(Result("i", {"c": config}, 0, 0, [check]))
    text = json.dumps(shown.as_json()) + html_report(shown)
    assert "hunter" not in text
    assert "jdbc:postgresql://h/db" in text


def test_lengths_of_time_are_read_with_their_unit():
    assert [seconds_of(text) for text in ("90s", "1.5m", "1h")] == [90.0, 90.0, 3600.0]
    for broken in ("", "s", "90", "-1s", "0s", "1d"):
        with pytest.raises(ConfigError):
            seconds_of(broken)
