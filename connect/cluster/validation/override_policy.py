"""Says which settings of their clients connectors may override: connector.client.config.override.policy. Pure."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from connect.runtime.settings.worker_config import WorkerConfig

PRINCIPAL_KEYS: Final = frozenset({"sasl.jaas.config", "sasl.mechanism", "security.protocol"})
POLICIES: Final = ("All", "None", "Principal", "Allowlist")


def policy_name(policy: str) -> str:
    """Return the short name of a policy, such as All, for a short name or the name of Java's class."""
    return policy.rpartition(".")[2].removesuffix("ConnectorClientConfigOverridePolicy")


def may_override(worker: WorkerConfig, setting: str) -> bool:
    """Tell if the worker lets connectors override this setting of their clients."""
    allowlist = worker.connector_client_config_override_allowlist
    return _allowed(worker.connector_client_config_override_policy, setting, allowlist)


def _allowed(policy: str, setting: str, allowlist: Collection[str]) -> bool:
    match policy_name(policy):
        case "All":
            return True
        case "Principal":
            return setting in PRINCIPAL_KEYS
        case "Allowlist":
            return setting in allowlist
        case _:
            return False
