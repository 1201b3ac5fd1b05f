import subprocess
import sys

import pytest
from click.testing import CliRunner

from connect.cli import main

pytestmark = pytest.mark.thorough


def loaded_after(statement):
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_listing_commands_loads_nothing_heavy():
    loaded = loaded_after("import connect.cli")
    assert not loaded & {"pyarrow", "polars", "confluent_kafka", "aiohttp", "pydantic", "structlog"}


def test_the_control_plane_loads_no_columns():
    assert not loaded_after("import connect.worker.app, connect.rest.rest_server") & {
        "pyarrow",
        "polars",
        "pandas",
        "numpy",
    }


def test_help_names_the_worker_command():
    answer = CliRunner().invoke(main, ["--help"])
    assert answer.exit_code == 0
    assert "worker" in answer.output


def test_an_unknown_command_is_refused():
    assert CliRunner().invoke(main, ["fly"]).exit_code == 2


@pytest.fixture
def run():
    """In a process of its own, as the command sets up logging."""

    def call(*arguments):
        command = [sys.executable, "-c", "from connect.cli import main; main()", "worker", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    return call


def test_a_missing_file_is_named(run, tmp_path):
    answer = run(tmp_path / "no.yaml")
    assert answer.returncode == 1
    assert "There is no worker file" in answer.stderr


def test_every_broken_key_is_named_at_once(run, tmp_path):
    file = tmp_path / "w.properties"
    file.write_text("slots=0\nsession.timeout.ms=x\nsasl.password=hush\n")
    answer = run(file, "--set", "task.hosts=-1")
    assert answer.returncode == 1
    for key in ("bootstrap.servers", "group.id", "slots", "session.timeout.ms", "task.hosts"):
        assert key in answer.stderr, key
    assert "hush" not in answer.stderr


def test_a_taken_port_ends_the_start_with_the_key_to_change(run, tmp_path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        file = tmp_path / "w.yaml"
        port = taken.getsockname()[1]
        topics = {f"{n}.storage.topic": n for n in ("config", "offset", "status")}
        lines = {
            "bootstrap.servers": "127.0.0.1:1",
            "group.id": "g",
            "key.converter": "JsonConverter",
            "value.converter": "JsonConverter",
        }
        lines |= {"listeners": f"http://127.0.0.1:{port}", **topics}
        file.write_text("\n".join(f"{k}: {v}" for k, v in lines.items()))
        answer = run(file)
    assert answer.returncode == 1
    assert str(port) in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.fixture
def provided(tmp_path):
    """The first lines of a worker's file that asks Java's file provider, and a file with a secret."""
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("ttl=hush-hush\n")
    provider = "org.apache.kafka.common.config.provider.FileConfigProvider"
    return f"config.providers=file\nconfig.providers.file.class={provider}\n", secrets


def test_placeholders_of_a_workers_file_are_resolved_before_it_is_checked(run, tmp_path, provided):
    lines, secrets = provided
    file = tmp_path / "w.properties"
    file.write_text(f"{lines}session.timeout.ms=${{file:{secrets}:ttl}}\n")
    answer = run(file)
    assert answer.returncode == 1
    assert "hush-hush for configuration session.timeout.ms" in answer.stderr


def test_a_secret_that_cannot_be_read_ends_the_start_with_its_key(run, tmp_path, provided):
    file = tmp_path / "w.properties"
    file.write_text(f"{provided[0]}sasl.password=${{file:{tmp_path}/gone.properties:password}}\n")
    answer = run(file)
    assert answer.returncode == 1
    assert "sasl.password" in answer.stderr
    assert "gone.properties" in answer.stderr
