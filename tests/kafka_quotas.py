"""Sets and removes quotas of brokers, which no Python client can do."""

from __future__ import annotations

import subprocess

from connect.tools.services.ivy import fetch
from connect.tools.services.java import find_java
from connect.tools.services.kafka import ARTIFACTS, KAFKA_VERSION


def alter_quota(bootstrap_servers: str, kind: str, name: str, change: str, setting: str) -> None:
    """Do what kafka-configs.sh does. The quota is for the user `name` if `kind` is `users`, or for the client id if
    `clients`.
    """
    jars = fetch(f"kafka-{KAFKA_VERSION}", ARTIFACTS)
    argv = [
        str(find_java().launcher), "-cp", f"{jars}/*", "kafka.admin.ConfigCommand", "--bootstrap-server",
        bootstrap_servers, "--alter", change, setting, "--entity-type", kind, "--entity-name", name,
    ]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
