"""One worker on real Kafka with real task hosts, over HTTP."""

import signal
import time
from pathlib import Path

import psutil
import pytest
from cluster_worker import eventually
from kafka_records import records


def test_a_connector_is_created_runs_and_is_deleted(worker):
    name = "a-1;{x} ü"
    worker.create(name, topic="numbers")
    eventually(worker.runs(name))
    assert worker.get("/connectors") == [name]
    assert worker.get(f"/connectors/{name}")["type"] == "source"
    assert worker.call("DELETE", f"/connectors/{name}").status_code == 204
    assert worker.get("/connectors") == []
    eventually(lambda: worker.call("GET", f"/connectors/{name}/status").status_code == 404)


def test_pause_resume_stop_and_restart(worker):
    worker.create("c")
    eventually(worker.runs("c"))
    assert worker.call("PUT", "/connectors/c/pause").status_code == 202
    eventually(lambda: worker.states("c") == ("PAUSED", ["PAUSED", "PAUSED"]))
    assert worker.call("PUT", "/connectors/c/resume").status_code == 202
    eventually(worker.runs("c"))
    assert worker.call("PUT", "/connectors/c/stop").status_code == 204
    eventually(lambda: worker.states("c") == ("STOPPED", []))
    assert worker.call("PUT", "/connectors/c/resume").status_code == 202
    eventually(worker.runs("c"))
    answer = worker.call("POST", "/connectors/c/restart?includeTasks=true")
    assert answer.status_code == 202, answer.text
    assert {task["state"] for task in answer.json()["tasks"]} == {"RESTARTING"}
    eventually(worker.runs("c"))
    eventually(lambda: worker.get("/connectors/c/topics")["c"]["topics"] == ["c-numbers"])


def test_a_restarted_worker_goes_on_with_the_same_connectors(worker, start_worker):
    worker.create("c", **{"tasks.max": "1"})
    eventually(worker.runs("c", 1))
    assert worker.stop() == 0

    again = start_worker().ready()

    eventually(again.runs("c", 1))
    assert again.get("/connectors/c/config")["tasks.max"] == "1"


def test_a_worker_that_was_killed_leaves_no_process_behind(worker, start_worker):
    worker.create("c", **{"tasks.max": "1"})
    eventually(worker.runs("c", 1))
    children = worker.children()
    assert children
    worker.process.kill()
    _gone, alive = psutil.wait_procs(children, timeout=60)
    assert not alive
    eventually(start_worker().ready().runs("c", 1))


def test_a_killed_task_host_is_replaced_and_said(worker):
    worker.create("c")
    eventually(worker.runs("c"))
    victim = worker.hosts()[-1]
    victim.send_signal(signal.SIGKILL)
    eventually(lambda: worker.states("c") != ("RUNNING", ["RUNNING", "RUNNING"]))
    eventually(worker.runs("c"))
    assert "SIGKILL" in worker.log.read_text()


def test_crashes_in_connector_code_cost_the_others_seconds_and_rest_nothing(start_worker, kafka, tmp_path):
    worker = start_worker(**{"task.hosts": "1"}).ready()
    crash = tmp_path / "crash"
    worker.create("ok", **{"tasks.max": "1"})
    worker.create("bad", **{"tasks.max": "1", "crash.file": str(crash)})
    eventually(lambda: worker.runs("ok", 1)() and worker.runs("bad", 1)())
    for how in ("SIGSEGV", "exit code 3", "SIGABRT"):
        (tmp_path / "next").write_text(how)
        (tmp_path / "next").rename(crash)

        def is_told(how=how):
            worker.get("/connectors/bad/status")
            return how in worker.log.read_text()

        eventually(is_told)
        before, crashed_s = len(records(kafka, "ok-numbers")), time.monotonic()
        eventually(lambda before=before: len(records(kafka, "ok-numbers")) > before + 20)
        print(f"{how}: records again after {time.monotonic() - crashed_s:.1f} s")  # noqa: T201 - a figure
        eventually(worker.runs("bad", 1))


@pytest.mark.parametrize("method", ["open", "poll", "close"])
def test_a_hang_in_a_task_stops_nobody_else(start_worker, method, tmp_path):
    hangs = tmp_path / "hangs"
    worker = start_worker(**{"task.shutdown.graceful.timeout.ms": "500", "task.hosts": "1"}).ready()
    worker.create("ok", **{"tasks.max": "1"})
    eventually(worker.runs("ok", 1))
    worker.create("hung", **{"tasks.max": "1", "hang.on": method, "hang.file": str(hangs)})
    eventually(worker.runs("hung", 1) if method == "close" else hangs.exists)
    assert worker.call("DELETE", "/connectors/hung").status_code == 204
    eventually(hangs.exists)
    eventually(lambda: "hung-0 did not stop in time" in worker.log.read_text())
    eventually(worker.runs("ok", 1))
    assert worker.stop() == 0


def test_a_hang_while_planning_tasks_fails_that_connector_only(worker):
    worker.create("hung", **{"hang.on": "task_configs"})
    worker.create("ok", **{"tasks.max": "1"})
    eventually(worker.runs("ok", 1))
    assert worker.get("/health")["status"] == "healthy"
    assert worker.call("DELETE", "/connectors/hung").status_code == 204


def test_a_connector_that_cannot_plan_its_tasks_tells_the_cause_first(worker):
    worker.create("lost", **{"plans.nothing": "true", "auto.restart.max.retries": "0"})
    eventually(lambda: (states := worker.states("lost")) and states[0] == "FAILED")
    status = worker.get("/connectors/lost/status")
    assert status["connector"]["trace"].startswith("connect.api.errors.ConnectError: The list of numbers is gone.")
    assert "The list of numbers is gone." in status["connector"]["reason"]
    assert worker.call("DELETE", "/connectors/lost").status_code == 204


def fork_server(worker):
    """The process that forks task hosts; None while there is none."""
    return next((child for child in worker.children() if "connect.cluster.hosts.fork_server" in child.cmdline()), None)


def maps_arrow(process):
    return any("libarrow" in mapped.path for mapped in process.memory_maps())


def written_bytes(process):
    """Its private memory but for unchanged pages of libraries: those are its own or not by what else runs just now."""
    return sum(mapped.private_dirty for mapped in process.memory_maps())


def holds(process, text):
    """Return True if a process has a text anywhere in its own memory."""
    with Path(f"/proc/{process.pid}/mem").open("rb", buffering=0) as memory:
        for mapped in process.memory_maps(grouped=False):
            begin, end = (int(address, 16) for address in mapped.addr.split("-"))
            if mapped.perms.startswith("rw") and mapped.path in {"[anon]", "[heap]", "[stack]"}:
                memory.seek(begin)
                if text.encode() in memory.read(end - begin):
                    return True
    return False


def test_rest_is_ready_soon_and_an_idle_worker_is_small(start_worker, kafka_service):
    # Of 1,500 topics of three partitions its clients know 14 MiB, and other tests leave theirs in the shared broker.
    own_broker = {"bootstrap.servers": kafka_service.endpoint.bootstrap_servers}
    started_s = time.monotonic()
    worker = start_worker(cold=True, **own_broker, **{"producer.sasl.password": "a-word-of-the-file"}).ready()
    took_s = time.monotonic() - started_s
    eventually(lambda: "slots_claimed" in worker.log.read_text())
    processes = [psutil.Process(worker.pid), *worker.children()]
    assert len(processes) == 3, "a worker, its member in the group, and the seed of its fork server"
    seed = fork_server(worker)
    own_mib = sum(written_bytes(process) for process in processes) / 2**20
    print(f"ready in {took_s:.2f} s, {own_mib:.0f} MiB of its own")  # noqa: T201 - figures for the report
    assert own_mib < 100  # 80 where it was measured
    assert not any(maps_arrow(process) for process in processes)
    assert holds(processes[0], "a-word-of-the-file")
    assert not holds(seed, "a-word-of-the-file"), "the seed was made after the worker read its file"
    worker.call("GET", "/connectors")  # the first sign of work
    eventually(lambda: maps_arrow(seed))
    assert fork_server(worker) == seed


def test_a_worker_without_kafka_says_so_and_stops_when_asked(start_worker):
    worker = start_worker(**{"bootstrap.servers": "127.0.0.1:1"})
    eventually(lambda: "waiting_for_kafka" in worker.log.read_text())
    assert worker.stop(60) == 0


def test_a_wrong_replication_factor_ends_the_start_with_the_key_to_change(start_worker):
    worker = start_worker(cold=True, **{"config.storage.replication.factor": "3"})
    assert worker.process.wait(60) == 1
    assert "config.storage.replication.factor" in worker.log.read_text()
