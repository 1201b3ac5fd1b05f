"""What a cluster of two workers takes its time for, and how much memory: the same steps for either kind of worker."""

from __future__ import annotations

import itertools
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import requests

from tests.bench.cluster.cluster_flow import Arrivals, Lines
from tests.bench.cluster.cluster_workers import SOURCE, TEXT, Worker, Workers, wait_for

CONNECTORS = 200
FIRST_RECORDS = 5
PAUSE_S = 0.02
IDLE_WINDOW_S = 10.0
SETTLED_WINDOW_S = 6.0
"""Longer than a host that is needed no more is kept for questions."""
SETTLED_LIMIT_S = 120.0
Figures = dict[str, float]


def measure_cluster(kind: str, bootstrap_servers: str, folder: Path, new_topic: Callable[[str], str]) -> Figures:
    """Every figure of one kind of worker, `ours` or `java`, by name; seconds and MiB."""
    with Workers(kind, bootstrap_servers) as workers:
        first, second = (worker.start() for worker in workers.all)
        figures: Figures = {
            "start to REST, new cluster, s": first.rest_s,
            "start until healthy, new cluster, s": first.healthy_s,
            "start to REST, s": second.rest_s,
            "start until healthy, s": second.healthy_s,
        }
        settled(*workers.all)
        figures |= memory("idle worker", workers.all[1])
        figures["first record of a fresh worker, s"] = first_record(workers, bootstrap_servers, folder, new_topic)
        figures["first record after POST, s"] = statistics.median(
            first_record(workers, bootstrap_servers, folder, new_topic) for _ in range(FIRST_RECORDS)
        )
        figures |= losses(workers, bootstrap_servers, folder, new_topic("flow"))
        figures |= many(workers, folder, new_topic("many"))
    return figures


def memory(what: str, *workers: Worker) -> Figures:
    """The sum over the processes of the workers."""
    found = [worker.memory() for worker in workers]
    return {f"{what}, USS MiB": sum(m.uss_mib for m in found), f"{what}, PSS MiB": sum(m.pss_mib for m in found)}


def cpu_use(window_s: float, *workers: Worker) -> float:
    """Cores that the workers use during a time."""
    before_s, began_s = sum(worker.cpu_s() for worker in workers), time.monotonic()
    threading.Event().wait(window_s)
    return (sum(worker.cpu_s() for worker in workers) - before_s) / (time.monotonic() - began_s)


def settled(*workers: Worker) -> None:
    """Return when the workers have nothing left to do: neither processes nor CPU use become less any more."""
    limit_s = time.monotonic() + SETTLED_LIMIT_S
    uses, processes = [float("inf")], [0]
    while time.monotonic() < limit_s:
        uses.append(cpu_use(SETTLED_WINDOW_S, *workers))
        processes.append(sum(worker.process_count for worker in workers))
        if processes[-1] == processes[-2] and uses[-1] > 0.8 * uses[-2] - 0.01:
            return
    raise TimeoutError(f"the workers are still busy after {SETTLED_LIMIT_S:g} s: {uses} cores, {processes} processes")


def first_record(workers: Workers, bootstrap_servers: str, folder: Path, new_topic: Callable[[str], str]) -> float:
    """Seconds from a POST until the line that the file holds already has arrived."""
    topic = new_topic("first")
    file = folder / f"{topic}.txt"
    file.write_text(f"{time.monotonic() + 1e6}\n")
    with Arrivals(bootstrap_servers, topic) as arrivals:
        posted_s = time.monotonic()
        workers.all[0].call("POST", "/connectors", {"name": topic, "config": source(file, topic)})
        return arrivals.first_written_after(posted_s)


def losses(workers: Workers, bootstrap_servers: str, folder: Path, topic: str) -> Figures:
    """How long lines stay away after a restart of their task, and SIGTERM, kill -9 and a freeze of its worker."""
    file = folder / f"{topic}.txt"
    figures: Figures = {}
    with Lines(file), Arrivals(bootstrap_servers, topic) as arrivals:
        workers.all[0].call("POST", "/connectors", {"name": topic, "config": source(file, topic)})
        arrivals.steady_again(time.monotonic())
        now_s = time.monotonic()
        figures["longest gap undisturbed, s"] = arrivals.longest_gap(now_s - 2, now_s)

        moment_s = time.monotonic()
        workers.all[0].call("POST", f"/connectors/{topic}/tasks/0/restart")
        arrivals.steady_again(moment_s)
        figures["task restart, longest gap, s"] = arrivals.longest_gap(moment_s, time.monotonic())

        owner, _ = workers.owner(topic)
        moment_s = owner.terminate()
        arrivals.steady_again(moment_s)
        figures["SIGTERM of the owner, longest gap, s"] = arrivals.longest_gap(moment_s, time.monotonic())
        owner.clean_up()
        owner.start()
        settled(*workers.all)

        owner, other = workers.owner(topic)
        moment_s = owner.kill()
        # A line that is written meanwhile may still come from the old owner's task host, so the gap counts.
        arrivals.steady_again(moment_s)
        figures["kill -9 of the owner, longest gap, s"] = arrivals.longest_gap(moment_s, time.monotonic())
        owner.clean_up()
        wait_for(lambda: _runs_on(other, topic), "a status of the other worker")
        owner.start()
        settled(*workers.all)

        owner, other = workers.owner(topic)
        moment_s = owner.freeze()
        arrivals.steady_again(moment_s)
        figures["freeze of the owner, longest gap, s"] = arrivals.longest_gap(moment_s, time.monotonic())
        owner.thaw()
        owner.kill()
        owner.clean_up()
        wait_for(lambda: _runs_on(other, topic), "a status of the other worker")
        owner.start()
        workers.all[0].call("DELETE", f"/connectors/{topic}")
    return figures


def many(workers: Workers, folder: Path, topic: str) -> Figures:
    """Many connectors at once: until all run, REST meanwhile, memory and idle CPU after."""
    before = set(workers.all[0].call("GET", "/connectors"))
    with Latencies(workers) as latencies:
        started_s = time.monotonic()
        posts = []
        for number in range(CONNECTORS):
            file = folder / f"many-{number}.txt"
            file.write_text("a line\n")
            asked_s = time.monotonic()
            name = f"many-{number}"
            config = {"name": name, "config": source(file, topic)}
            workers.all[number % 2].call("POST", "/connectors", config)
            posts.append(time.monotonic() - asked_s)
        created_s = time.monotonic() - started_s
        # Asked seldom: a question this large is no part of the load.
        wait_for(lambda: _running(workers.all[0], before) == CONNECTORS, f"{CONNECTORS} connectors running", 300.0, 0.2)
        running_s = time.monotonic() - started_s
    settled(*workers.all)
    cpu_share = cpu_use(IDLE_WINDOW_S, *workers.all)
    return {
        f"{CONNECTORS} connectors created, s": created_s,
        f"{CONNECTORS} connectors RUNNING, s": running_s,
        "GET meanwhile, p50 ms": percentile(latencies.seen_s, 50) * 1000,
        "GET meanwhile, p99 ms": percentile(latencies.seen_s, 99) * 1000,
        "GET meanwhile, longest ms": max(latencies.seen_s) * 1000,
        "POST meanwhile, p99 ms": percentile(posts, 99) * 1000,
        **memory(f"worker with half of {CONNECTORS} connectors", workers.all[0]),
        **memory(f"both workers with {CONNECTORS} connectors", *workers.all),
        f"idle CPU with {CONNECTORS} connectors, % of a core": cpu_share * 100,
    }


class Latencies:
    """Asks workers small questions all the time, on a thread, and takes the time."""

    def __init__(self, workers: Workers, asked: Sequence[Worker] = ()) -> None:
        """`asked`: those of them that are asked, where not all are."""
        self._urls = [worker.url for worker in asked or workers.all]
        self.seen_s: list[float] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _ask(self) -> None:
        session = requests.Session()
        paths = itertools.cycle(["/", "/connectors", "/connectors/many-0/status", "/connectors/many-0"])
        for url, path in zip(itertools.cycle(self._urls), paths, strict=False):
            if self._end.wait(PAUSE_S):
                return
            asked_s = time.monotonic()
            session.get(url + path, timeout=60)
            self.seen_s.append(time.monotonic() - asked_s)


def percentile(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def source(file: Path, topic: str) -> dict[str, str]:
    return {
        "connector.class": SOURCE, "tasks.max": "1", "file": str(file), "topic": topic, "key.converter": TEXT,
        "value.converter": TEXT,
    }  # fmt: skip


def _runs_on(worker: Worker, name: str) -> bool:
    tasks = worker.call("GET", f"/connectors/{name}/status")["tasks"]
    return bool(tasks) and tasks[0]["worker_id"] == worker.id and tasks[0]["state"] == "RUNNING"


def _running(worker: Worker, but: set[str]) -> int:
    found = worker.call("GET", "/connectors?expand=status")
    tasks = [c["status"]["tasks"] for name, c in found.items() if name not in but]
    return sum(bool(t) and t[0]["state"] == "RUNNING" for t in tasks)
