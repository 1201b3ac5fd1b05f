"""Gathers all facts side by side, within one deadline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as await_all
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from connect.api.allowed_paths import EVERYWHERE, allowed_by
from connect.doctor.gathering.certificate_facts import certificate_facts
from connect.doctor.gathering.kafka_facts import Configs, kafka_facts
from connect.doctor.gathering.machine_facts import machine_facts
from connect.doctor.gathering.receiver_facts import receiver_trouble
from connect.doctor.gathering.registry_facts import registry_facts, registry_settings
from connect.doctor.gathering.sealing_facts import sealing_facts
from connect.doctor.gathering.secret_file_facts import secret_file_facts
from connect.doctor.gathering.target_facts import target_facts
from connect.doctor.model.facts import CertificateFacts, ConnectorFacts, Facts, RegistryFacts
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connect.runtime.settings.worker_config import WorkerConfig

GATHER_S: Final = 4.0
"""Brokers and registries have this many seconds to answer."""
_SIDE_BY_SIDE: Final = 8


def gathered(
    worker: WorkerConfig,
    catalog: Catalog,
    connectors: Sequence[ConnectorFacts],
    configs: Configs,
    *,
    is_running: bool,
    file_notes: Sequence[str] = (),
) -> Facts:
    """Return the facts around a worker and these connectors; `configs` are their configurations as stored."""
    deadline = Deadline.after(GATHER_S)
    # Threads that still wait for an answer end by their own time limits; they are not waited for here.
    threads = ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="doctor")
    kafka = threads.submit(kafka_facts, worker, connectors, configs, deadline, is_running=is_running)
    machine = threads.submit(machine_facts, worker)
    certificates = threads.submit(_certificates, worker, configs)
    registries = [threads.submit(registry_facts, *named) for named in _named(worker, configs)]
    sealing = threads.submit(sealing_facts, worker, deadline)
    receiver = threads.submit(receiver_trouble, worker)
    targets = threads.submit(target_facts, catalog, configs, worker.originals, deadline)
    secret_files = threads.submit(secret_file_facts, worker)
    threads.shutdown(wait=False)
    everything: list[Future[Any]] = [
        kafka, machine, certificates, sealing, receiver, targets, secret_files, *registries,
    ]  # fmt: skip
    late = await_all(everything, timeout=GATHER_S + 1).not_done
    missing = [f"{len(late)} questions were not answered in {GATHER_S:.0f} s."] if late else []
    found_targets, silent = targets.result() if targets.done() else ([], 0)
    if silent:
        missing.append(f"{silent} targets of connectors did not answer in time.")
    facts = Facts(worker, datetime.now(UTC), is_running, connectors=connectors, file_notes=file_notes,
                  not_asked=missing)  # fmt: skip
    if kafka.done():
        state, found = kafka.result()
        facts = replace(facts, kafka=state, connectors=found)
    answers: list[RegistryFacts] = [one for future in registries if future.done() and (one := future.result())]
    return replace(
        facts,
        machine=machine.result() if machine.done() else facts.machine,
        certificates=certificates.result() if certificates.done() else (),
        registries=answers,
        targets=found_targets,
        secret_files=secret_files.result() if secret_files.done() else (),
        sealing=sealing.result() if sealing.done() else None,
        receiver_trouble=receiver.result() if receiver.done() else "",
    )


def _certificates(worker: WorkerConfig, configs: Configs) -> list[CertificateFacts]:
    allowed = allowed_by(worker.originals)
    found = [*certificate_facts("worker file", worker.originals, allowed_by(EVERYWHERE))]
    for name, config in configs.items():
        found += certificate_facts(f"connector {name}", config, allowed)
    return found


def _named(worker: WorkerConfig, configs: Configs) -> list[tuple[str, str, dict[str, str], Mapping[str, str]]]:
    """Return each registry once: the owner and key that name it, its settings, and the worker's rules for its files."""
    found = {}
    for name, config in configs.items():
        for key, own in registry_settings(config):
            found[str(sorted(own.items()))] = (f"connector {name}", key, own, worker.originals)
    for key, own in registry_settings(worker.originals):
        found[str(sorted(own.items()))] = ("worker file", key, own, EVERYWHERE)
    return [*found.values()]
