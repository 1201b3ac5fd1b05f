"""Checks that the next evaluation on the same target, and no other one, knows what a killed evaluation left."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from connect.poc.sandbox.left_behind import left_targets, note_target, state_folder

CONFIG = {
    "connector.class": "FileStreamSink",
    "file": "/data/out",
    "password": "hunter-2222",
    "name": "a",
    "topics": "t",
}


@pytest.fixture(autouse=True)
def _state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def names(config):
    return [left.name for left in left_targets(config)]


def noted_by_a_process_that_has_ended(name):
    file = note_target(name, CONFIG)
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    file.write_text(json.dumps({**json.loads(file.read_text()), "pid": gone.pid, "since_s": 1.0}))
    return file


def test_a_target_is_left_when_its_process_is_gone():
    note_target("poc-1", CONFIG)
    assert names(CONFIG) == [], "this process lives"
    noted_by_a_process_that_has_ended("poc-2")
    assert names(CONFIG) == ["poc-2"]
    assert names({**CONFIG, "name": "b", "topics": "u"}) == ["poc-2"], "the target is the same"
    assert names({**CONFIG, "file": "/data/other"}) == []


def test_a_process_that_has_the_number_of_a_gone_one_is_another():
    file = note_target("poc-1", CONFIG)
    file.write_text(json.dumps({**json.loads(file.read_text()), "since_s": 1.0}))
    assert names(CONFIG) == ["poc-1"]


def test_a_note_holds_no_secret_and_a_broken_one_is_passed_over():
    file = noted_by_a_process_that_has_ended("poc-1")
    assert "hunter" not in file.read_text()
    assert "/data/out" not in file.read_text()
    (state_folder() / "half.json").write_text('{"target":')
    assert names(CONFIG) == ["poc-1"]
