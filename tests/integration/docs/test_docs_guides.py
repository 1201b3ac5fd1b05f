"""Runs the guides as they stand: each block of commands is typed, and what the page shows behind it comes out.

A block of `text` behind one of commands tells lines that its output holds. The commands above it are run again until
they do: a reader looks again, too. What cannot be run here says so in a comment above the block, with the reason.
"""

from __future__ import annotations

import re
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from e2e_worker import wait_for
from terminals import WAIT_S, Terminals

ROOT = Path(__file__).parents[3]
GUIDES = sorted((ROOT / "docs/guides").glob("*.md"))
DEV = "connect dev --with postgres --allow ."
BLOCK = re.compile(r"^(<!-- not run:[^\n]*\n)?```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STATE = "exported.sh"
"""Holds what the blocks before exported, as a terminal keeps it."""


@pytest.fixture(scope="module")
def terminals():
    # Not pytest's folder: the user that PostgreSQL runs as has to reach it.
    with tempfile.TemporaryDirectory(prefix="guides-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / STATE).touch()
        made = Terminals(folder)
        made.stays_up(DEV)
        yield made
        assert made.ctrl_c() == 0, made.said()


def steps(guide):
    """Yield the commands of each block that is run, and the lines that have to come out of it."""
    blocks = [(language, text) for left_out, language, text in BLOCK.findall(guide.read_text("utf-8")) if not left_out]
    # A guide may have no such block: what it shows is run elsewhere, as the comments above its blocks say.
    for (language, text), (after, shown) in pairwise([*blocks, ("sh", "")]):
        if language == "sh":
            yield text, shown.splitlines() if after == "text" else []


def test_the_guides_use_the_environment_that_is_started_here():
    started = {
        line for guide in GUIDES for line in re.findall(r"connect dev --with[^`\n]*--allow \.", guide.read_text())
    }
    assert started <= {DEV, "connect dev --with cassandra --allow ."}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_a_guide_does_what_it_says(guide, terminals):
    for commands, shown in steps(guide):
        type_until_shown(terminals, commands, shown)


def type_until_shown(terminals, commands, shown):
    """Run the commands; where lines have to come out, again and again until they do."""
    lines = [f". ./{STATE}", commands, f"export -p > {STATE}"]
    said = []

    def looked():
        done = terminals.run(lines)
        said.append(f"{commands}\n{done.stdout}\n{done.stderr}")
        if done.returncode != 0 and not shown:
            pytest.fail(f"{said[-1]}\n{terminals.said()}")
        plain = " ".join(done.stdout.split())
        return done.returncode == 0 and all(" ".join(line.split()) in plain for line in shown)

    wait_for(looked, WAIT_S, lambda: f"{shown} of\n{said[-1]}", pause_s=1.0)
