"""A backfill's file: what is wrong in it is told at once, with the line and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from connect.api.errors import ConfigError
from connect.backfill.job.spec import BackfillSpec
from connect.backfill.job.spec_file import parse_spec, read_spec
from connect.backfill.service import checked

GOOD = """\
apiVersion: backfill/v1
name: orders
source: {connector: orders-source}
"""


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_spec(text, "job.yaml")
    return [problem.message for problem in caught.value.problems]


def test_a_short_spec_has_defaults_that_work():
    spec = parse_spec(GOOD, "job.yaml")
    assert (spec.engine.type, spec.engine.master, spec.chunking.lanes) == ("spark", "local[*,4]", 4)
    assert (spec.marker_topic, spec.state.jobs_topic) == ("connect-backfill-orders", "connect-backfill-jobs")


def test_sizes_and_times_have_units():
    spec = parse_spec(GOOD + "chunking: {max_bytes: 8MiB}\nlimits: {chunk_timeout: 2m}\n", "job.yaml")
    assert (spec.chunking.max_bytes, spec.limits.chunk_timeout) == (8 * 2**20, 120.0)


def test_every_mistake_is_told_at_once_with_its_line():
    told = problems(
        "apiVersion: backfill/v1\n"
        "name: two words\n"
        "source:\n"
        "  conector: orders\n"
        "chunking:\n"
        "  rows: many\n"
        "  max_bytes: 32 furlongs\n"
        "  lanes: 0\n"
        "engine: {master: 'local[2]'}\n"
    )
    assert [text.split(": ")[0] for text in sorted(told)] == [
        "job.yaml:2", "job.yaml:3", "job.yaml:4", "job.yaml:6", "job.yaml:7", "job.yaml:8", "job.yaml:9"
    ]  # fmt: skip
    by_line = {text.split(": ")[0].removeprefix("job.yaml:"): text for text in told}
    assert "source.connector: it is missing" in by_line["3"]
    assert "source.conector: there is no such key; write connector" in by_line["4"]
    assert "as 32MiB" in by_line["7"]
    assert "write local[2,4]" in by_line["9"]


def test_what_does_not_fit_to_the_kind_is_told_at_once_with_its_line():
    sink = problems("apiVersion: backfill/v1\nname: n\nkind: sink\nsource:\n  connector: x\n  config: y\n")
    assert [text.split(": ")[:2] for text in sink] == [
        ["job.yaml:5", "source.connector"], ["job.yaml:6", "source.config"], ["job.yaml:1", "target.connector"],
    ]  # fmt: skip
    source = problems(GOOD + "target: {connector: s3}\nchunking: {lanes: 0}\n")
    assert [text.split(": ")[:2] for text in source] == [["job.yaml:4", "target"], ["job.yaml:5", "chunking.lanes"]]
    copy = problems("apiVersion: backfill/v1\nname: n\nkind: copy\nsource:\n  offsets: {t-0: 1}\n")
    assert [text.split(": ")[1] for text in copy] == ["source.connector", "source.offsets", "target.connector"]


def test_a_spec_that_is_no_file_tells_the_same():
    with pytest.raises(ConfigError) as caught:
        checked({"apiVersion": "backfill/v1", "name": "n", "kind": "sink", "target": {"config": "x.json"}})
    assert [problem.key for problem in caught.value.problems] == ["target.config", "target.connector"]


def test_a_spec_stays_what_it_is_as_json():
    spec = parse_spec("apiVersion: backfill/v1\nname: n\nkind: sink\ntarget: {connector: s3}\n", "job.yaml")
    assert BackfillSpec.model_validate(spec.model_dump(mode="json", by_alias=True)) == spec


def test_a_key_that_is_there_twice_is_told():
    assert problems(GOOD + "name: other\n") == ["job.yaml:4: name: it is there twice; keep one of them."]


@pytest.mark.parametrize("text", ["", "[]", "name: [", "just words"])
def test_what_is_no_spec_is_a_clear_error(text):
    with pytest.raises(ConfigError, match=r"job\.yaml"):
        parse_spec(text, "job.yaml")


def test_a_file_that_is_not_there_is_a_clear_error(tmp_path):
    with pytest.raises(ConfigError, match="no backfill spec"):
        read_spec(tmp_path / "job.yaml")


def test_what_may_change_between_two_runs_is_not_fixed():
    planned = parse_spec(GOOD, "job.yaml").fixed
    assert parse_spec(GOOD + "engine: {type: local}\nlimits: {max_rows_per_second: 5}\n", "job.yaml").fixed == planned
    assert parse_spec(GOOD + "chunking: {lanes: 5}\n", "job.yaml").fixed != planned


@pytest.mark.parametrize(
    "file", sorted(Path(__file__).parents[3].glob("configs/backfill/*.yaml")), ids=lambda f: f.name
)
def test_every_spec_in_configs_is_good(file):
    spec = read_spec(file)
    for name in filter(None, (spec.source.connector, spec.target.connector)):
        assert (file.parent / f"{name}.json").exists()
