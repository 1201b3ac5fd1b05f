"""Random histories are the same for the same seed, and one that fails says how to run it again."""

import json

import histories
import pytest
from histories import History, run_histories


@pytest.fixture(autouse=True)
def told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (histories.SECONDS, histories.SEED, histories.THEME):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def drawn(**more):
    seen = []

    def run(history):
        seen.append((history.seed, history.draw.random()))

    run_histories("cluster", run, **more)
    return seen


def test_a_short_run_is_the_same_for_everyone():
    assert [seed for seed, _ in drawn(short=3)] == [1, 2, 3]
    assert drawn(short=3) == drawn(short=3)
    assert len({draw for _, draw in drawn(short=3)}) == 3


def test_a_seed_is_run_alone(told):
    fourth = drawn(short=4)[3]
    told.setenv(histories.SEED, "4")
    assert drawn(short=2) == [fourth]


def test_seeds_are_drawn_until_the_time_is_over(told):
    told.setenv(histories.SECONDS, "0.05")
    seeds = [seed for seed, _ in drawn(short=0)]
    assert len(set(seeds)) > 3
    told.setenv(histories.SECONDS, "0")
    assert drawn(short=5) == []


def test_a_theme_is_drawn_or_given_and_all_else_is_the_same(told):
    seen = []

    def run(history: History) -> None:
        seen.append((history.theme({"any": 3, "kills": 1}), history.draw.random()))

    run_histories("cluster", run, short=20)
    drawn_themes, seen = seen, []
    assert {theme for theme, _ in drawn_themes} == {"any", "kills"}

    told.setenv(histories.THEME, "kills")
    run_histories("cluster", run, short=20)
    assert seen == [("kills", other) for _, other in drawn_themes]

    told.setenv(histories.THEME, "any")

    def fail(history: History) -> None:
        assert history.theme({"any": 1}) != "any"

    with pytest.raises(AssertionError) as failed:
        run_histories("cluster", fail, short=1)
    assert failed.value.__notes__[1].startswith("again: CONNECT_HISTORY_SEED=1 CONNECT_HISTORY_THEME='any' ")

    told.setenv(histories.THEME, "floods")
    with pytest.raises(ValueError, match="'floods', and histories of cluster have these themes"):
        run_histories("cluster", run, short=1)


def test_a_history_that_fails_is_saved_and_named(tmp_path):
    def run(history: History) -> None:
        history.note("pause", connector="c1")
        assert history.seed != 2, "a row is missing"

    with pytest.raises(AssertionError, match="a row is missing") as failed:
        run_histories("cluster", run, short=3)
    where, again = failed.value.__notes__
    saved = json.loads((tmp_path / "build/histories/cluster-2.json").read_text())
    assert "build/histories/cluster-2.json" in where
    assert saved["seed"] == 2
    assert [(step["step"], step["connector"]) for step in saved["steps"]] == [("pause", "c1")]
    assert again.startswith("again: CONNECT_HISTORY_SEED=2 ")
    assert "test_histories.py::test_a_history_that_fails_is_saved_and_named" in again
