"""Attacks take no row from connectors beside them, though a worker is killed, and REST answers others in a second."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests
from answers_in_time import answering
from drawn_attacks import ATTACKS, ATTACKS_ON_A_PART
from e2e_worker import WorkerProcess
from histories import History, run_histories
from victims import NAMES, Victims, values

from connect.tools.services import KafkaEndpoint


@pytest.mark.histories
def test_attacks_take_no_row_from_others(kafka: KafkaEndpoint, tmp_path: Path) -> None:
    run_histories("attack", lambda history: one_history(history, kafka.bootstrap_servers, tmp_path), short=1)


def one_history(history: History, bootstrap_servers: str, folder: Path) -> None:
    """Attack a worker in drawn ways while its connectors are fed, kill the other amid it, and count what arrived."""
    own = folder / str(history.seed)
    name = f"victims-{os.getpid()}-{history.seed}"
    with (
        worker(own, "attacked", bootstrap_servers, name) as attacked,
        worker(own, "beside", bootstrap_servers, name) as beside,
    ):
        victims = Victims(attacked, bootstrap_servers, own, name)
        victims.create()
        attacks = history.draw.sample(ATTACKS, len(ATTACKS))
        kill_before = history.draw.choice(attacks)
        with answering(attacked.url, lambda seen: history.note("answers", **seen)), victims.fed_meanwhile():
            for attack in attacks:
                if attack is kill_before:
                    attack_while_killed(history, victims, beside)
                history.note(attack.__name__)
                attack(victims, history.draw)
                require_untouched(victims)
        victims.require_each_row_once()
        history.note("arrived", rows=victims.fed)


def attack_while_killed(history: History, victims: Victims, beside: WorkerProcess) -> None:
    """Kill all that runs the victims, attack what is left of the cluster, and wait until they are back."""
    attack = history.draw.choice(ATTACKS_ON_A_PART)
    history.note("kill", amid=attack.__name__)
    victims.kill_their_tasks(beside)
    attack(victims, history.draw)
    victims.wait_until_they_go_on()
    beside.start()
    victims.wait_until_they_run()  # the one that came took some of them


@contextmanager
def worker(folder: Path, role: str, bootstrap_servers: str, name: str) -> Iterator[WorkerProcess]:
    """Run a worker of the cluster of this name, whose configurations may name files of this folder alone."""
    soon = {"auto.restart.backoff.initial.ms": "500", "auto.restart.backoff.max.ms": "1000"}
    keys = {"allowed.paths": str(folder), "task.hosts": "1", **soon}
    made = WorkerProcess(folder / role, bootstrap_servers, name, **keys)
    made.start()
    try:
        yield made
    finally:
        made.stop()


def require_untouched(victims: Victims) -> None:
    """Fail when a connector or a job was planted, or a victim's task has failed, or does not run in time."""
    shown = requests.get(f"{victims.worker.url}/connectors?expand=status", timeout=60).json()
    assert sorted(shown) == sorted(NAMES)
    for name, told in shown.items():
        states = [task["state"] for task in told["status"]["tasks"]]
        assert states in (["RUNNING"], ["UNASSIGNED"]), f"{name}: {told['status']}"
    victims.wait_until_they_run()  # a worker that comes takes tasks over
    configs = values(victims.bootstrap_servers, victims.worker.properties["config.storage.topic"])
    assert not [value for value in configs if value and b'"planted"' in value]
