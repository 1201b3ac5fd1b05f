"""Brokers are cut off, run out of disk or lead more partitions while rows flow: each row arrives once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from e2e_brokers import SESSION_S, ThreeBrokers
from e2e_flow import WAIT_S, flowing
from e2e_network import Network
from e2e_worker import wait_for

from connect.lib.deadline import Deadline

pytestmark = pytest.mark.timeout(900)
DISK_MIB = 96
PARTS = pytest.mark.parametrize("part", ["s3", "bigquery", "copies", "backfill"])


def admin_of(brokers: ThreeBrokers) -> AdminClient:
    return AdminClient({"bootstrap.servers": brokers.bootstrap_servers, "log_level": 0})


def told(what: str, flow, recovered_s: list[float]) -> None:
    seconds = ", ".join(f"{one:.1f}" for one in recovered_s)
    print(f"{what}: {flow.check()}; rows flowed after {seconds} s", flush=True)  # noqa: T201 - chaos reports how long rows stood


def fill(file: Path) -> None:
    with file.open("wb", buffering=0) as filling:
        while shutil.disk_usage(file).free:
            filling.write(bytes(4096))


@pytest.mark.chaos
@pytest.mark.parametrize("part", ["s3", "bigquery"])
def test_a_topic_that_gets_more_partitions_loses_and_repeats_no_row(tmp_path, make_flow, part):
    with ThreeBrokers(tmp_path) as brokers, flowing(make_flow(part, brokers)) as flow:
        admin = admin_of(brokers)
        admin.create_partitions([NewPartitions(flow.topic, 6)])[flow.topic].result(30)
        told("partitions raised", flow, [flow.until_rows_flow()])
        assert len(brokers.replicas(flow.topic)) == 6


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own for one broker, which only root can make."""
    disk = tmp_path / "broker-1"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "none", str(disk)], check=True)
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.chaos
@PARTS
def test_a_brokers_disk_that_is_full_costs_no_row(small_disk: Path, tmp_path, make_flow, part):
    with ThreeBrokers(tmp_path) as brokers, flowing(make_flow(part, brokers)) as flow:
        filling = small_disk / "filling"
        fill(filling)
        wait_for(lambda: not brokers.is_running(1), WAIT_S, "the broker to end, as it cannot write")
        recovered_s = [flow.until_rows_flow()]
        filling.unlink()
        brokers.start(1)
        brokers.wait_until_whole()
        recovered_s.append(flow.until_rows_flow())
        told("disk full", flow, recovered_s)


@pytest.mark.chaos
@PARTS
@pytest.mark.parametrize("others", ["brokers", "worker"])
def test_a_broker_that_is_cut_off_costs_no_row(tmp_path, make_flow, part, others):
    network = Network()
    with (
        ThreeBrokers(tmp_path, network=network) as brokers,
        flowing(make_flow(part, brokers)) as flow,
    ):
        for number, worker in enumerate(flow.workers):
            network.parties[f"worker-{number}"] = lambda worker=worker: worker.pid
        victim = brokers.leader_of(f"{flow.name}-configs")
        if others == "brokers":
            network.cut(f"broker-{victim}", *(f"broker-{one}" for one in (1, 2, 3) if one != victim))
        else:
            network.cut(f"broker-{victim}", "worker-0")
        away = Deadline.after(2 * SESSION_S)
        away.wait(2 * SESSION_S)
        network.mend()
        brokers.wait_until_whole()
        told(f"broker {victim} cut off from {others}", flow, [flow.until_rows_flow()])
