"""Sets a quota of brokers and lifts it, which no client of Python does."""

from __future__ import annotations

import subprocess

from connect.tools.services.ivy import fetch
from connect.tools.services.java import find_java
from connect.tools.services.kafka import ARTIFACTS, KAFKA_VERSION


def alter_quota(bootstrap_servers: str, kind: str, name: str, change: str, setting: str) -> None:
    """Do what kafka-configs.sh does. `kind` and `name` say whose: `users` and a login, or `clients` and a client id."""
    jars = fetch(f"kafka-{KAFKA_VERSION}", ARTIFACTS)
    argv = [
        str(find_java().launcher), "-cp", f"{jars}/*", "kafka.admin.ConfigCommand", "--bootstrap-server",
        bootstrap_servers, "--alter", change, setting, "--entity-type", kind, "--entity-name", name,
    ]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
