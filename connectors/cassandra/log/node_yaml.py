"""What a node's own cassandra.yaml says that its agent would else be told once more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from connect.api.errors import ConfigError

KEY: Final = "cassandra.yaml"
_ALL_ADDRESSES: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - a node that listens there is reached on loopback


def with_node_settings(properties: Mapping[str, str | None]) -> Mapping[str, str | None]:
    """Return an agent's settings with the folder, the address, the port and the encryption of its node's file.

    Settings that are given count. Without the key `cassandra.yaml` they are returned as they are. ConfigError: the file
    cannot be read, is no YAML of a node, or says that the node keeps no changes.
    """
    path = properties.get(KEY)
    if not path:
        return properties
    node = _read(Path(path))
    if node.get("cdc_enabled") is not True:
        raise ConfigError(
            f"{path} has no cdc_enabled: true, so that this node keeps no changes.",
            key=KEY, fix="Set cdc_enabled: true and cdc_raw_directory there, and start the node anew.",
        )  # fmt: skip
    if not node.get("cdc_raw_directory") and not properties.get("cdc.raw.folder"):
        raise ConfigError(
            f"{path} has no cdc_raw_directory, so that the node's folder depends on where it is installed.",
            key=KEY, fix="Set cdc_raw_directory there, or cdc.raw.folder in the agent's file.",
        )  # fmt: skip
    return {**_settings(node), **properties}


def _read(path: Path) -> Mapping[str, object]:
    fix = "Name the file that the node itself reads, and let the agent's user read it."
    try:
        node = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(f"The node's file {path} cannot be read: {error}.", key=KEY, fix=fix) from error
    if not isinstance(node, dict):
        raise ConfigError(f"The node's file {path} holds no settings but a {type(node).__name__}.", key=KEY, fix=fix)
    return node


def _settings(node: Mapping[str, object]) -> Mapping[str, str]:
    """Return the agent's settings by the node's. A node without an address of its own is asked on loopback."""
    found = {"cdc.raw.folder": node.get("cdc_raw_directory"), "port": node.get("native_transport_port")}
    address = node.get("rpc_address")
    if address not in _ALL_ADDRESSES:
        found["contact.points"] = address
    encryption = node.get("client_encryption_options")
    if isinstance(encryption, dict) and encryption.get("enabled") is True and encryption.get("optional") is not True:
        found["ssl.enabled"] = "true"
    return {key: str(value) for key, value in found.items() if value}
