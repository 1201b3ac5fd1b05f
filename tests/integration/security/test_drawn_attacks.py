"""Draws configurations over the keys of all connectors, with bait, for a worker in the strict profile.

What must hold of each, checked and, where nothing is wrong with it, run: no host is reached but the listed one, no file
outside of the list is opened or made, no code runs, and no answer and no line of the log tells a secret or the content
of a bait.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
import requests
from drawn_configs import BAIT, Attacker, Listener, Watch
from e2e_worker import WorkerProcess, wait_for

from connect.tools.services import KafkaEndpoint

pytestmark = pytest.mark.attacks

DRAWS = 60
MOST_DRAWS = 300
"""So many are drawn where none has run or none has reached the listed host: new plug-ins change what a seed draws."""


@pytest.fixture
def bait(tmp_path: Path) -> Path:
    """A folder with one that configurations may name, and one with bait that they may not."""
    allowed, outside = tmp_path / "allowed", tmp_path / "outside"
    allowed.mkdir()
    outside.mkdir()
    (outside / "bait.csv").write_text(f"secret\n{BAIT}\n")
    (allowed / "link").symlink_to(outside)
    (allowed / "lines.txt").write_text(f"{outside}/pwned\n")
    return tmp_path


@pytest.fixture
def listeners() -> Iterator[tuple[Listener, Listener]]:
    both = Listener(), Listener()
    yield both
    for one in both:
        one.close()


def run(worker: WorkerProcess, config: dict[str, Any]) -> str:
    """Run a connector until its task works or has failed; return what is told of it."""
    made = worker.create("drawn", {**config, "auto.restart.enabled": "false"})
    if made.status_code != 201:
        return made.text

    def ended() -> bool:
        status = worker.status("drawn")
        states = [part["state"] for part in (status.get("connector", {"state": ""}), *status.get("tasks", ()))]
        return "FAILED" in states or (len(states) > 1 and set(states) == {"RUNNING"})

    wait_for(ended, 120, lambda: f"a task of {config}: {worker.status('drawn')}", by=worker)
    told = "".join(worker.call("GET", "drawn", part).text for part in ("", "/status", "/tasks", "/why"))
    assert worker.call("DELETE", "drawn").status_code == 204
    return told


@pytest.mark.parametrize("seed", [1])
def test_no_drawn_configuration_gets_out_of_bounds(
    kafka: KafkaEndpoint, bait: Path, listeners: tuple[Listener, Listener], seed: int
) -> None:
    listed, other = listeners
    settings = {
        "security.profile": "strict", "allowed.hosts": listed.address, "allowed.paths": str(bait / "allowed"),
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }  # fmt: skip
    worker = WorkerProcess(bait / "worker", kafka.bootstrap_servers, f"drawn-{bait.name}-{seed}", **settings)
    with ExitStack() as stack:
        stack.callback(worker.stop)
        worker.start()
        watch = stack.enter_context(closing(Watch(bait / "outside")))
        attacker = Attacker(worker, listed, other, bait, seed)
        runs = 0
        for drawn in range(MOST_DRAWS):
            if drawn >= DRAWS and runs and listed.found:
                break
            plugin, config = attacker.config()
            answer = requests.put(f"{worker.url}/connector-plugins/{plugin}/config/validate", json=config, timeout=120)
            shown = json.dumps({name: str(value)[:100] for name, value in config.items()})
            assert answer.status_code < 500, (answer.text[:500], shown)
            told = answer.text
            if answer.status_code == 200 and not answer.json()["error_count"]:
                told, runs = told + run(worker, config), runs + 1
            assert [one for one in (*attacker.secrets, BAIT) if one in told] == [], shown
            assert other.found == [], shown
            assert watch.touched() == [], shown
        log = worker.log_tail()
        assert [one for one in (*attacker.secrets, BAIT) if one in log] == []
        assert listed.found, "checks reached the listed host"
        assert runs, "some were run"
        assert worker.healthy()
