"""Checks configurations of public repositories: what each becomes here is as it was written, or better."""

from __future__ import annotations

import re
import sys
from collections import Counter

from public_configurations import INSTEAD, PAGE, VERDICTS, Judged, corpus, judged, page, table, validator

from connect.plugins.catalog import CONNECTORS

CORPUS = list(corpus())
NEUTRAL = re.compile(r"^(secret|user:secret|x|\$?\{.*|USER_INFO|URL|SASL_INHERIT|)$")


def test_no_configuration_fares_worse_than_was_written() -> None:
    ours = validator()
    found = [judged(ours, one.config) for one in CORPUS]
    counts = Counter(one.here for one in found)
    runs = counts["runs"] + counts["note"]
    sys.stdout.write(f"{table(found)}\n{runs} of {len(found)} run: {dict(counts)}\n")
    worse = [
        f"{one.config['connector.class']}: {was.here} -> {one.here} {one.why}"
        for was, one in zip(CORPUS, found, strict=True)
        if VERDICTS.index(was.here) < VERDICTS.index(one.here)
    ]
    assert worse == []


def test_the_page_has_the_counts_that_were_written() -> None:
    assert PAGE.read_text() == page(CORPUS)


def test_two_in_three_run_of_those_whose_class_is_here() -> None:
    here = [one for one in CORPUS if one.here != "no such class"]
    assert len(CORPUS) >= 200
    assert sum(one.here in {"runs", "note"} for one in here) >= 2 / 3 * len(here)


def test_a_class_that_is_not_here_is_answered_before_all_else() -> None:
    catalog = validator().catalog
    lacking = [one for one in CORPUS if catalog.find(one.config["connector.class"], *CONNECTORS) is None]
    assert [one.here for one in lacking] == ["no such class"] * len(lacking)
    answered = [INSTEAD in one.why[0] or "is not here. Leave it to" in one.why[0] for one in lacking]
    assert [one.config["connector.class"] for one, told in zip(lacking, answered, strict=True) if not told] == []


def test_no_secret_is_in_the_corpus() -> None:
    def told(one: Judged) -> list[str]:
        secret = re.compile(r"password|secret$|token$|jaas|api\.key|access\.key")
        return [f"{k}={v}" for k, v in one.config.items() if secret.search(k) and not NEUTRAL.match(v)]

    assert [
        line for one in CORPUS for line in told(one) if not re.search(r"=(true|false|-?\d+|[a-z]+(\.\w+)+)$", line)
    ] == []
