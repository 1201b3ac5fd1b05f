"""Keeps names for clusters in a file of the user, and chooses the cluster of a command. No I/O but that file, and one
with a token.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from connect.api.errors import ConfigError
from connect.client.rest import Access

URL_VARIABLE: Final = "CONNECT_URL"
USER_VARIABLE: Final = "CONNECT_USER"
PASSWORD_VARIABLE: Final = "CONNECT_PASSWORD"  # noqa: S105 - the name of a variable
TOKEN_VARIABLE: Final = "CONNECT_TOKEN"  # noqa: S105 - the name of a variable
TOKEN_FILE_VARIABLE: Final = "CONNECT_TOKEN_FILE"  # noqa: S105 - the name of a variable
FILE_VARIABLE: Final = "CONNECT_CONTEXTS"
DEFAULT_URL: Final = "http://localhost:8083"
_TOKEN: Final = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Contexts:
    """Holds the clusters by name, and the name of the one in use.

    Passwords are not stored: `password_env` and `token_env` name environment variables. `token` is the token that
    `connect login` got.
    """

    current: str | None
    clusters: Mapping[str, Mapping[str, str]]

    def access(self, name: str, environ: Mapping[str, str]) -> Access:
        """Return how to reach a cluster. ConfigError: there is no context of that name."""
        if name not in self.clusters:
            known = ", ".join(sorted(self.clusters)) or "none"
            raise ConfigError(
                f"There is no context {name!r}; known: {known}.",
                key="context",
                fix="Add it: connect context add NAME URL.",
            )
        found = self.clusters[name]
        password, token = (environ.get(found.get(key, ""), "") for key in ("password_env", "token_env"))
        return Access(
            found["url"], found.get("user", ""), password, found.get("ca_file", ""),
            token or found.get("token", ""), found.get("cert_file", ""),
        )  # fmt: skip


def contexts_file() -> Path:
    """Return the path of the file that holds the contexts."""
    if os.environ.get(FILE_VARIABLE):
        return Path(os.environ[FILE_VARIABLE])
    home = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(home) / "connect-for-kafka" / "contexts.yaml"


def read_contexts(file: Path) -> Contexts:
    """Return the contexts in the file; none if there is no file. ConfigError names a file that cannot be read."""
    try:
        found: Any = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
        clusters = {str(name): {str(k): str(v) for k, v in one.items()} for name, one in found["clusters"].items()}
        urls = [one["url"] for one in clusters.values()]
    except (FileNotFoundError, NotADirectoryError):
        return Contexts(None, {})
    except (OSError, ValueError, TypeError, AttributeError, KeyError, yaml.YAMLError) as error:
        raise ConfigError(
            f"The contexts in {file} cannot be read: {error}.",
            fix=f"Mend or remove the file, or name another one in {FILE_VARIABLE}.",
        ) from error
    return Contexts(found.get("current"), clusters) if urls else Contexts(None, {})


def write_contexts(file: Path, contexts: Contexts) -> None:
    """Write the contexts to the file, which only its user may read. After a crash it holds the old or the new ones."""
    file = file.resolve()  # a link stays one
    file.parent.mkdir(parents=True, exist_ok=True)
    known = {name: dict(one) for name, one in contexts.clusters.items()}
    # mkstemp gives the mode 600, whatever a file that was there before allowed.
    descriptor, written = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    with os.fdopen(descriptor, "w", encoding="utf-8") as new:
        yaml.safe_dump({"current": contexts.current, "clusters": known}, new)
    Path(written).replace(file)


def chosen_context(url: str | None, context: str | None, contexts: Contexts, environ: Mapping[str, str]) -> str | None:
    """Return the name of the context that a command uses; None if an address is given, or nothing is."""
    if url:
        return None
    return context or (None if environ.get(URL_VARIABLE) else contexts.current)


def chosen(url: str | None, context: str | None, contexts: Contexts, environ: Mapping[str, str]) -> Access:
    """Return the cluster to use: by --url, --context, CONNECT_URL, the context in use, or else the local worker.

    ConfigError: there is no such context, or the file of CONNECT_TOKEN_FILE has no token.
    """
    name = chosen_context(url, context, contexts, environ)
    if name:
        return contexts.access(name, environ)
    address = url or environ.get(URL_VARIABLE)
    user, password = environ.get(USER_VARIABLE, ""), environ.get(PASSWORD_VARIABLE, "")
    token = environ.get(TOKEN_VARIABLE, "") or _token_in(environ.get(TOKEN_FILE_VARIABLE, ""))
    return Access(address or DEFAULT_URL, user, password, token=token)


def _token_in(path: str) -> str:
    """Return the token in a file; it is empty if no file is named. ConfigError: the file has none."""
    if not path:
        return ""
    fix = f"Write the token alone into it, or name another file in {TOKEN_FILE_VARIABLE}."
    try:
        token = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise ConfigError(
            f"The token of {TOKEN_FILE_VARIABLE} cannot be read from {path}: {reason}.",
            key=TOKEN_FILE_VARIABLE,
            fix=fix,
        ) from None
    if not _TOKEN.fullmatch(token):
        what = "more than a token" if token else "no token"
        raise ConfigError(f"The file {path} of {TOKEN_FILE_VARIABLE} has {what}.", key=TOKEN_FILE_VARIABLE, fix=fix)
    return token
