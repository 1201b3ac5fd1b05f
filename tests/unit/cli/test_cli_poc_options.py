"""Checks what `connect poc` says of a wrong command line before it starts anything: exit code 3, as nothing was
tested.
"""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from connect.cli.poc import poc
from connect.poc.job import asked_options
from connect.poc.sandbox.options import seconds_of


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--sample", "none"], "'none' is not a valid integer"),
        (["--sample", "0"], "0 is not in the range x>=1"),
        (["--crash", "-1"], "-1 is not in the range x>=0"),
        (["--duration", "5x"], "'5x' is no length of time"),
        (["--out", "nowhere/report.html"], "there is no folder"),
        (["--json", "nowhere/result.json"], "there is no folder"),
        (["--fail-on", "lossy,los"], "no check finds los. There are changed, cursor"),
        ([], "connector.class=NoSuch names no connector here, or more than one. There are "),
    ],
)
def test_a_wrong_option_is_told_and_is_no_connector_that_does_not_fit(options, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.json").write_text(json.dumps({"name": "c", "config": {"connector.class": "NoSuch"}}))
    done = CliRunner().invoke(poc, ["c.json", *options])
    assert (done.exit_code, said in done.output) == (3, True), done.output
    assert len(done.output) < 1000


def test_a_file_that_is_no_result_is_named(tmp_path):
    files = [tmp_path / name for name in ("one.json", "other.json")]
    for file in files:
        file.write_text("{")
    done = CliRunner().invoke(poc, ["compare", *map(str, files)])
    assert done.exit_code == 3
    assert "one.json is no result of connect poc: Expecting property name" in done.output


def test_the_command_line_and_rest_have_the_same_defaults() -> None:
    given = {option.name: option.default for option in poc.commands["run"].params}
    rest = asked_options({})
    assert (given["sample_rows"], given["crashes"], given["budget_rows"]) == (
        rest.sample_rows, rest.crashes, rest.budget_rows,
    )  # fmt: skip
    assert seconds_of(given["duration"]) == rest.duration_s
    assert (rest.sample_rows, rest.duration_s, rest.crashes, rest.budget_rows) == (10_000, 60.0, 3, 500_000)
