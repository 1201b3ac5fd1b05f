"""Reads files of connectors that somebody hostile may write into a checkout: each is named, and the others count."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from connect.api.errors import ConfigProblem
from connect.client import manifests
from connect.client.manifests import MOST_BYTES, read_usable

GOOD = json.dumps({"name": "good", "config": {"connector.class": "X"}})
LISTS = "\n".join(
    [
        "a0: &a0 [x, x, x, x, x, x, x, x, x, x]",
        *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)),
    ]
)
MERGES = "\n".join(
    [
        "m0: &m0 {" + ", ".join(f"k{n}: 1" for n in range(10)) + "}",
        *(f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 10)}]}}" for n in range(1, 12)),
    ]
)
ONE_BY_ONE = ", ".join(["<<: *m"] * 200)
KEYS = ", ".join(f"k{n}: 1" for n in range(9000))
HOSTILE = {
    "aliases in a value": ("yaml", f"{LISTS}\nname: x\nconnector.class: *a9", "is a list of lists"),
    "aliases in a name": ("yaml", f"{LISTS}\n---\nname: [x]\nconfig: {{a: 1}}", "is a list of lists"),
    "a name that is a list": ("yaml", "name: &a [[x], [x]]\nconfig: {a: 1}", "name is a list, not a text"),
    "a kind that is a list": ("yaml", "kind: [KafkaConnector]\nspec: {}", "kind is a list, not a text"),
    "a name that is an object": ("json", '{"name": {"a": 1}, "config": {"a": "1"}}', "name is an object, not a text"),
    "merges": ("yaml", f"{MERGES}\nname: x\nconfig: {{<<: *m9}}", "a mapping has more than 10000 keys"),
    "many merges": ("yaml", f"m: &m {{a: 1}}\nn: {{<<: [{', '.join(['*m'] * 200)}]}}", "more than 100 mappings"),
    "a key twice": ("yaml", "name: x\nconfig: {topics: a, connector.class: X, topics: b}", "'topics' is there twice"),
    "many merges one by one": ("yaml", f"m: &m {{a: 1}}\nn: {{{ONE_BY_ONE}}}", "more than 100 mappings"),
    "a long list": ("yaml", f"s: &s {'x' * 4000}\nk: [{', '.join(['*s'] * 4000)}]", "more than 8 million characters"),
    "many connectors": ("yaml", f"- &a {{k: {'x' * 9000}}}\n" + "- *a\n" * 1000, "more than 8 million characters"),
    "many keys": ("yaml", f"- &a {{{KEYS}}}\n" + "- {<<: *a}\n" * 200, "more than 1000000 keys"),
    "deep YAML": ("yaml", "[" * 20_000, "nested too deep"),
    "deep JSON": ("json", "[" * 200_000, "nested too deep"),
    "too large": ("yaml", "a: " + "x" * MOST_BYTES, "has more than 4 MiB"),
    "a state of a list": ("json", '{"name": "x", "config": {"a": "1"}, "initial_state": ["PAUSED"]}', "is a list"),
    "a state of none": ("json", '{"name": "x", "config": {"a": "1"}, "initial_state": "asleep"}', "'ASLEEP' is no"),
    "Strimzi's state": ("yaml", "kind: KafkaConnector\nspec: {state: asleep}", "'asleep' is none of running"),
    "half a character": ("json", '{"name": "\\ud800", "config": {"a": "1"}}', "has half of a character"),
    "half in a value": ("json", '{"name": "x", "config": {"a": "\\udfff"}}', "has half of a character"),
    "Python's objects": ("yaml", "!!python/object/apply:os.system [touch /tmp/x]", "could not determine a constructor"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_named_and_the_others_count(tmp_path: Path, case: str) -> None:
    kind, text, told = HOSTILE[case]
    (tmp_path / f"bad.{kind}").write_text(text)
    (tmp_path / "good.json").write_text(GOOD)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found, problems = read_usable([tmp_path])
    assert [manifest.name for manifest in found] == ["good"]
    (problem,) = problems
    assert (problem.key, told in problem.message) == (str(tmp_path / f"bad.{kind}"), True), problem.message
    assert len(problem.message) < 1000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 200_000


def test_merges_that_people_write_count(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "name: x\nconfig: &base {connector.class: X, topics: a}\n---\nname: y\nconfig: {connector.class: Y}\n"
    )
    (tmp_path / "b.yaml").write_text(
        "- &base {name: p, connector.class: X, topics: a}\n- {<<: *base, name: q, topics: b}\n- {<<: *base, name: r}\n"
    )
    found, problems = read_usable([tmp_path])
    assert problems == []
    assert {one.name: one.config.get("topics") for one in found} == {"x": "a", "y": None, "p": "a", "q": "b", "r": "a"}


def test_a_link_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    """Whoever may write to a checkout would else read the machine's own files by the connectors that come of them."""
    secret = tmp_path / "token.yaml"
    secret.write_text("token: hunter2-of-the-machine\n")
    folder = tmp_path / "connectors"
    (folder / "inner").mkdir(parents=True)
    (folder / "good.json").write_text(GOOD)
    (folder / "inner" / "same.json").symlink_to("../good.json")
    for name, target in (("a.yaml", secret), ("b.yaml", "../token.yaml"), ("c.json", "/etc/hostname")):
        (folder / name).symlink_to(target)
    (folder / "loop.json").symlink_to("loop.json")
    found, problems = read_usable([folder])
    assert [one.name for one in found] == ["good"]
    told = {Path(str(problem.key)).name: problem.message for problem in problems}
    assert told.keys() == {"a.yaml", "b.yaml", "c.json", "loop.json", "same.json"}
    assert all("out of the folder" in told[name] for name in ("a.yaml", "b.yaml", "c.json"))
    assert "hunter2" not in str(told)
    # A checkout is often a link itself, and a person may name any file.
    (tmp_path / "current").symlink_to(folder)
    assert [one.name for one in read_usable([tmp_path / "current"])[0]] == ["good"]
    assert [one.config for one in read_usable([folder / "a.yaml"])[0]] == [{"token": "hunter2-of-the-machine"}]


def test_a_link_to_a_folder_is_told_and_not_followed(tmp_path: Path) -> None:
    folder, other = tmp_path / "connectors", tmp_path / "team"
    for made in (folder / "inner", other):
        made.mkdir(parents=True)
    (folder / "good.json").write_text(GOOD)
    (other / "other.json").write_text(json.dumps({"name": "other", "config": {"a": "1"}}))
    for name, target in (("linked", other), ("same", "inner"), ("..data", other), ("loop", ".")):
        (folder / name).symlink_to(target)
    notes: list[ConfigProblem] = []
    found, problems = read_usable([folder], notes)
    assert ([one.name for one in found], problems) == (["good"], [])
    assert [(note.key, note.message) for note in notes] == [
        (str(folder / "linked"), f"It is a link to the folder {other}, which is not followed. Name that folder by -f."),
    ]


_AS_NOBODY = """
import os, sys
from pathlib import Path
from connect.client.manifests import read_usable
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
found, problems = read_usable([Path(sys.argv[1])])
print([one.name for one in found], [(p.key, p.message) for p in problems])
"""


def test_a_folder_that_cannot_be_listed_is_a_problem_and_not_an_empty_one(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """`--prune` deletes what no file describes, but nothing while there is a problem."""
    folder = Path("/tmp") / f"connectors-{os.getpid()}"  # nobody may not look into pytest's own folders
    (folder / "team").mkdir(parents=True)
    try:
        (folder / "good.json").write_text(GOOD)
        (folder / "team" / "other.json").write_text(json.dumps({"name": "other", "config": {"a": "1"}}))
        folder.chmod(0o755)
        (folder / "team").chmod(0)
        ran = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, str(folder)], capture_output=True, text=True, check=False, timeout=60
        )
        told = f"[('{folder}/team', 'the folder cannot be listed: Permission denied')]"
        assert ran.stdout == f"['good'] {told}\n", ran.stderr
    finally:
        (folder / "team").chmod(0o700)
        for file in (folder / "good.json", folder / "team" / "other.json"):
            file.unlink()
        (folder / "team").rmdir()
        folder.rmdir()


def test_the_last_change_is_that_of_the_newest_file(tmp_path: Path) -> None:
    assert manifests.newest_change_s([tmp_path, tmp_path / "nowhere"]) == 0.0
    for name, at_s in (("a.json", 100), ("b.yaml", 300), ("c.txt", 900)):
        (tmp_path / name).write_text("{}")
        os.utime(tmp_path / name, (at_s, at_s))
    (tmp_path / "gone.json").symlink_to("nowhere.json")
    assert manifests.newest_change_s([tmp_path]) == 300


def test_states_and_merges_are_read_as_java_and_yaml_read_them(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"name": "a", "config": {"x": "1"}, "initial_state": "stopped"}')
    (tmp_path / "b.yaml").write_text(
        "- &one {k: 1, name: one}\n- &two {l: 2, name: two}\n- {<<: *one, <<: *two, name: b}"
    )
    found, problems = read_usable([tmp_path])
    assert not [problem for problem in problems if "a.json" in str(problem.key)]
    by_name = {manifest.name: manifest for manifest in found}
    assert by_name["a"].state == "STOPPED"
    assert {"k": "1", "l": "2"}.items() <= by_name["b"].config.items()


def test_a_link_to_itself_and_one_through_a_file_are_told_and_end_nothing(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(GOOD)
    (tmp_path / "self.json").symlink_to("self.json")
    (tmp_path / "through.json").symlink_to("good.json/x")
    assert manifests.newest_change_s([tmp_path]) > 0
    found, problems = read_usable([tmp_path])
    assert [manifest.name for manifest in found] == ["good"]
    assert sorted(Path(str(problem.key)).name for problem in problems) == ["self.json", "through.json"]


def test_a_folder_that_nobody_may_enter_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "good.json").write_text(GOOD)
    (tmp_path / "closed.json").write_text(GOOD)
    is_file = Path.is_file

    def refused(path: Path) -> bool:
        if path.name == "closed.json":
            raise PermissionError(13, "Permission denied")
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", refused)
    found, problems = read_usable([tmp_path])
    assert [manifest.name for manifest in found] == ["good"]
    assert "Permission denied" in problems[0].message
