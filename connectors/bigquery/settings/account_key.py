"""Reads the text of keyfile, and refuses a key that would run a command or ask other hosts than Google's. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from connect.api.errors import ConfigError

_GOOGLE: Final = re.compile(r"https://([a-z0-9-]+\.)+googleapis\.com(:443)?(/[^\\\s]*)?", re.IGNORECASE)
_ADDRESSES: Final = ("token_url", "token_uri", "token_info_url", "service_account_impersonation_url")
# Keys from before 2018 name this address; Google's library uses it like oauth2.googleapis.com.
_OLD_TOKEN_ADDRESS: Final = "https://accounts.google.com/o/oauth2/token"  # noqa: S105 - an address, no token
_ENVIRONMENT_LINE: Final = (
    "Where the worker itself should do so, put the path of this file into GOOGLE_APPLICATION_CREDENTIALS of the "
    "worker's environment, and set keySource=APPLICATION_DEFAULT."
)


@dataclass(frozen=True, slots=True)
class AccountKey:
    """Holds the JSON of a service account's key, or of workload identity (external_account)."""

    fields: Mapping[str, Any]

    @property
    def is_federated(self) -> bool:
        """Return True for workload identity, whose token somebody else than Google gives."""
        return bool(self.fields["type"] == "external_account")

    @property
    def token_file(self) -> str:
        """Return the path of the file that holds the token of workload identity; empty for a service account."""
        return str(self.fields["credential_source"]["file"]) if self.is_federated else ""

    @property
    def token_field(self) -> str:
        """Return the field of that file's JSON that holds the token; empty where the file is the token."""
        form = self.fields["credential_source"].get("format") or {}
        return str(form.get("subject_token_field_name", "")) if form.get("type") == "json" else ""


def read_key(text: str) -> AccountKey:
    """Return the key that a text holds. Raise ConfigError if it holds none, or one that asks others than Google.

    No error shows a part of the text, which is a secret.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise _no_key() from None
    if not isinstance(found, dict) or found.get("type") not in {"service_account", "external_account"}:
        raise _no_key()
    for name in _ADDRESSES:
        address = found.get(name)
        if address is not None and address != _OLD_TOKEN_ADDRESS and not _is_googles(address):
            raise ConfigError(
                f"The key in keyfile names another host than Google's in {name}, and tokens are asked of Google alone.",
                key="keyfile",
                fix=f"Give {name} an https address below googleapis.com, as Google Cloud's own file has it.",
            )
    if found.get("universe_domain", "googleapis.com") != "googleapis.com":
        raise ConfigError(
            "The key in keyfile is of another universe_domain than googleapis.com.", key="keyfile",
            fix="Take a key of Google Cloud's public universe.",
        )  # fmt: skip
    if found["type"] == "external_account":
        _check_source(found.get("credential_source"))
    return AccountKey(found)


def _check_source(source: object) -> None:
    """Raise ConfigError where the token of workload identity comes from elsewhere than a file."""
    if not isinstance(source, dict):
        raise _no_key()
    for name, does in (
        ("executable", "runs a command"), ("url", "asks an address"), ("environment_id", "asks AWS"),
        ("certificate", "reads a certificate's settings"),
    ):  # fmt: skip
        if name in source:
            raise ConfigError(
                f"The key in keyfile has credential_source.{name}, which {does} on the worker, and a configuration "
                "may not.",
                key="keyfile",
                fix=f"Name the token's file in credential_source.file, below allowed.paths. {_ENVIRONMENT_LINE}",
            )
    form = source.get("format")
    is_form = form is None or (isinstance(form, dict) and form.get("type", "text") in {"text", "json"})
    if not isinstance(source.get("file"), str) or not source["file"] or not is_form:
        raise ConfigError(
            "The key in keyfile names no file of a token in credential_source.file.", key="keyfile",
            fix="Take the file that `gcloud iam workload-identity-pools create-cred-config` writes.",
        )  # fmt: skip


def _is_googles(address: object) -> bool:
    return isinstance(address, str) and _GOOGLE.fullmatch(address) is not None


def _no_key() -> ConfigError:
    return ConfigError(
        "keyfile holds no key of a service account (JSON of type service_account), and no workload identity "
        "(external_account).",
        key="keyfile",
        fix="Take the JSON file that Google Cloud gives for a service account's key, or for workload identity.",
    )
