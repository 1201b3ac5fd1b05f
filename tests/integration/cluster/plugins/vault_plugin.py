"""Holds a config provider that notes which processes look values up."""

import json
import os
from pathlib import Path

from connect.api.config import Config, String, key
from connect.api.errors import ConnectError
from connect.api.plugin import Plugin, PluginKind, hookimpl


class VaultConfig(Config):
    file: String = key("file", doc="JSON object with the values.")
    visitors: String = key("visitors", doc="File with a line for each process that was here.")


class Vault:
    def __init__(self, config):
        self._config = config
        self._note()

    def get(self, path, keys):
        self._note()
        if path == "locked":
            raise ConnectError("The vault is locked.")
        values = json.loads(Path(self._config.file).read_text())
        return {name: values[name] for name in keys if name in values}

    def _note(self):
        with Path(self._config.visitors).open("a") as visitors:
            visitors.write(f"{os.getpid()}\n")


@hookimpl
def connect_plugins():
    return [
        Plugin(
            kind=PluginKind.CONFIG_PROVIDER,
            name="test.VaultConfigProvider",
            factory="vault_plugin:Vault",
            config=VaultConfig,
            version="1.0",
        )
    ]
