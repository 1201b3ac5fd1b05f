"""Carries out the demo from start to end.

All its decisions are here; the modules beside it show, watch and compare.
"""

from __future__ import annotations

import json
import random
import signal
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, Final

from rich.console import Console

from connect.api.errors import ConnectError
from connect.tools.demo.backfill import BackfillAct
from connect.tools.demo.dataset import FLIGHTS, TABLES, Dataset, load
from connect.tools.demo.screen import Screen
from connect.tools.demo.targets import Target
from connect.tools.demo.verify import Comparison, compare, read_source, read_target
from connect.tools.demo.watch import Reading, Watch, file_system
from connect.tools.demo.worker import USUAL_PORT, DemoWorker
from connect.tools.services import KafkaService, SeaweedS3Service
from connect.tools.services.process.cache import cache_folder
from connect.tools.services.process.port_claims import PortClaims, usual_or_free

BUCKET: Final = "lake"
TOPIC_PREFIX: Final = "nyc-"
AGREE_TIMEOUT_S: Final = 180.0
WATCH_INTERVAL_S: Final = 0.2
TARGET_INTERVAL_S: Final = 1.0
KILL_AT: Final = 0.5


@dataclass(frozen=True, slots=True)
class DemoPlan:
    """Tells what the demo does.

    `kill_at` has the shares of all work (rows into Kafka, rows into S3) at which the worker is killed. `flights` is how
    many flights are loaded; with None all are. `targets` are the databases that the flights go into besides S3.
    """

    kill_at: tuple[float, ...]
    stay: bool
    flights: int | None = None
    targets: tuple[Target, ...] = ()


def kill_moments(*, kill: bool, seed: int | None) -> tuple[float, ...]:
    """Return when to kill the worker, as shares of the work.

    Without a seed it is killed once, half-way; with a seed one to three times, at moments drawn from it.
    """
    if not kill:
        return ()
    if seed is None:
        return (KILL_AT,)
    draw = random.Random(seed)
    return tuple(sorted(draw.uniform(0.0, 0.95) for _ in range(draw.randint(1, 3))))


def run(demo: DemoPlan, console: Console) -> int:
    """Run the demo; return 0 only if the target equals the source. Everything that was started is stopped in the
    end.
    """
    screen = Screen(console)
    interrupted = threading.Event()
    with ExitStack() as stack:
        stack.callback(screen.end_watch)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="connect-demo-")))
        addresses: dict[str, str] = {}
        for target in demo.targets:
            screen.say(f"starting {target.title} on loopback")
            addresses |= target.start(stack)
        screen.say("starting Apache Kafka and SeaweedFS (S3) on loopback")
        kafka = stack.enter_context(KafkaService())
        s3 = stack.enter_context(SeaweedS3Service())
        s3.create_bucket(BUCKET)
        screen.say(f"Kafka at {kafka.endpoint.bootstrap_servers}, S3 at {s3.endpoint.url}")
        dataset = load(folder / "flights.db", flights=demo.flights)
        screen.say(f"loaded {sum(dataset.rows.values()):,} rows of real data into SQLite: {_counts(dataset.rows)}")
        claims = stack.enter_context(PortClaims(cache_folder() / "ports"))
        port = usual_or_free(USUAL_PORT, claims.take)
        worker = DemoWorker(folder, kafka.endpoint.bootstrap_servers, dataset.path, port)
        screen.say(f"worker {worker.rest.url} takes requests after {_started(stack, worker):.1f} s")
        watch = Watch(kafka.endpoint, s3.endpoint, BUCKET, TOPIC_PREFIX)
        stack.callback(watch.close)
        addresses |= {
            "DATABASE_URL": dataset.url,
            "S3_URL": s3.endpoint.url,
            "S3_BUCKET": BUCKET,
            "S3_ACCESS_KEY_ID": s3.endpoint.access_key_id,
            "S3_SECRET_ACCESS_KEY": s3.endpoint.secret_access_key,
        }
        configs = _config_folder("demo")
        files = (*sorted(configs.glob("*.json")), *(configs / "with" / f"{t.name}.json" for t in demo.targets))
        connectors = [_connector(file, addresses) for file in files]
        for connector in connectors:
            worker.rest.create(connector["name"], connector["config"])
            screen.say(f"POST /connectors {connector['name']}: {connector['config']['connector.class']}")
        _move(screen, worker, watch, dataset, demo.kill_at)
        comparisons = _verify(watch, dataset, file_system(s3.endpoint))
        comparisons += [_compare_target(screen, worker, dataset, target) for target in demo.targets]
        screen.result(comparisons)
        equal = all(c.equal for c in comparisons)
        screen.say(_verdict(comparisons, len(demo.kill_at)))
        if equal:
            bulk = _connector(_config_folder("backfill") / "flights-bulk.json", addresses)
            act = BackfillAct(screen, worker, kafka.endpoint, dataset, _config_folder("backfill"))
            equal = act.run(bulk, kill=bool(demo.kill_at))
        screen.next_steps(worker.rest.url, connectors[0])
        if demo.stay and equal:
            console.print("\nEverything stays up until you press Ctrl-C.")
            signal.signal(signal.SIGINT, lambda *_: interrupted.set())
            interrupted.wait()
        return 0 if equal else 1


def _started(stack: ExitStack, worker: DemoWorker) -> float:
    stack.callback(worker.stop)
    return worker.start()


def _connector(file: Path, values: Mapping[str, str]) -> dict[str, Any]:
    """Return the connector's configuration from a file, with this run's addresses filled in."""
    text = Template(file.read_text()).substitute({k: json.dumps(v)[1:-1] for k, v in values.items()})
    found: dict[str, Any] = json.loads(text)
    return found


def _config_folder(name: str) -> Path:
    """Return a folder of `configs`: the clone's, or the copy that an installed package has."""
    package = Path(str(resources.files("connect")))
    clone, installed = (folder / "configs" / name for folder in (package.parent, package / "tools/demo"))
    return clone if clone.is_dir() else installed


def _move(screen: Screen, worker: DemoWorker, watch: Watch, dataset: Dataset, kill_at: Sequence[float]) -> None:
    """Wait until every row is in S3, and kill the worker at the given shares of the work."""
    clock = FlightsClock(dataset.rows[FLIGHTS.name])
    kills = list(kill_at)
    down_s = 0.0
    limit_s = time.monotonic() + AGREE_TIMEOUT_S
    pause = threading.Event()
    screen.watch()
    while True:
        readings = {name: watch.read(name) for name in dataset.rows}
        screen.show(readings, dataset.rows)
        clock.look(readings[FLIGHTS.name])
        moved = sum(r.s3_rows for r in readings.values()) + _sent(readings, dataset)
        if kills and moved >= kills[0] * 2 * sum(dataset.rows.values()):
            kills.pop(0)
            down_s += _kill_and_start(screen, worker)
        elif not kills and all(r.s3_rows >= dataset.rows[name] for name, r in readings.items()):
            screen.end_watch()
            screen.say(clock.verdict(down_s))
            return
        elif time.monotonic() > limit_s:
            screen.end_watch()
            raise ConnectError(_stuck(worker, readings, dataset), fix=f"See {worker.log_path}.")
        pause.wait(WATCH_INTERVAL_S)


class FlightsClock:
    """Measures how long the flights take to Kafka and to S3, since the first record was in Kafka."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._first_s: float | None = None
        self._in_kafka_s: float | None = None
        self._in_s3_s: float | None = None

    def look(self, reading: Reading) -> None:
        """Note when the first record is in Kafka, and when all flights are in Kafka and in S3."""
        now_s = time.monotonic()
        if self._first_s is None and reading.topic_records:
            self._first_s = now_s
        if self._in_kafka_s is None and reading.topic_records >= self._rows:
            self._in_kafka_s = now_s
        if self._in_s3_s is None and reading.s3_rows >= self._rows:
            self._in_s3_s = now_s

    def verdict(self, down_s: float) -> str:
        """Return a sentence with the seconds to Kafka and to S3."""
        assert self._first_s is not None
        assert self._in_kafka_s is not None
        assert self._in_s3_s is not None
        down = f" (the worker was down for {down_s:.1f} s of it)" if down_s else ""
        return (
            f"{self._rows:,} flights: SQLite -> Kafka {self._in_kafka_s - self._first_s:.1f} s, "
            f"Kafka -> S3 {self._in_s3_s - self._first_s:.1f} s after the first record{down}"
        )


def _sent(readings: Mapping[str, Reading], dataset: Dataset) -> int:
    return sum(min(r.topic_records, dataset.rows[name]) for name, r in readings.items())


def _kill_and_start(screen: Screen, worker: DemoWorker) -> float:
    start_s = time.monotonic()
    screen.say(f"[bold]kill -9 {worker.pid}[/bold]: the worker dies in the middle of its work")
    worker.kill()
    screen.say(f"worker started again, takes requests after {worker.start():.1f} s")
    return time.monotonic() - start_s


def _verify(watch: Watch, dataset: Dataset, s3: Any) -> list[Comparison]:
    return [
        compare(table.name, read_source(dataset.path, table), read_target(s3, watch.folder(table.name)))
        for table in TABLES
    ]


def _compare_target(screen: Screen, worker: DemoWorker, dataset: Dataset, target: Target) -> Comparison:
    """Wait until a target has all flights, and compare them with the source's."""
    wanted = dataset.rows[FLIGHTS.name]
    limit_s = time.monotonic() + AGREE_TIMEOUT_S
    pause = threading.Event()
    while (rows := target.count()) < wanted:
        if time.monotonic() > limit_s:
            found = f"After {AGREE_TIMEOUT_S:.0f} s {target.title} has {rows:,} of {wanted:,} flights."
            raise ConnectError(f"{found}\n{_statuses(worker)}", fix=f"See {worker.log_path}.")
        screen.say(f"in {target.title} {rows:,} of {wanted:,} flights")
        pause.wait(TARGET_INTERVAL_S)
    screen.say(f"in {target.title} {rows:,} of {wanted:,} flights: reading them to compare")
    flights = target.read(lambda read: screen.say(f"read {read:,} of {wanted:,} flights from {target.title}"))
    return compare(f"flights in {target.title}", read_source(dataset.path, FLIGHTS), flights)


def _verdict(comparisons: Sequence[Comparison], kills: int) -> str:
    lost = sum(c.lost_rows for c in comparisons)
    doubled = sum(c.duplicate_rows for c in comparisons)
    if all(c.equal for c in comparisons):
        return f"[green]equal[/green]: 0 rows lost, 0 duplicates, {kills} kill{'s' if kills != 1 else ''} of the worker"
    return f"[red]NOT equal[/red]: {lost} rows lost, {doubled} duplicates"


def _stuck(worker: DemoWorker, readings: Mapping[str, Reading], dataset: Dataset) -> str:
    missing = {name: dataset.rows[name] - r.s3_rows for name, r in readings.items() if r.s3_rows < dataset.rows[name]}
    return f"After {AGREE_TIMEOUT_S:.0f} s rows are missing in S3: {missing}.\n{_statuses(worker)}"


def _statuses(worker: DemoWorker) -> str:
    try:
        return json.dumps({n: c.get("status") for n, c in worker.rest.connectors().items()}, indent=1)
    except ConnectError as error:
        return f"The worker does not answer: {error}"


def _counts(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in rows.items())
