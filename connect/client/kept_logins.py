"""Keeps the tokens of logins in the file of contexts, and renews them there when they are about to expire."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from connect.client.contexts import Contexts, read_contexts, write_contexts
from connect.client.logins import ENTRY_KEYS, TOKEN_KEYS, Issuer, Login


def renewed_contexts(file: Path, name: str) -> Contexts:
    """Return the contexts in the file, with a renewed token in the named one if it was about to expire.

    A token that cannot be renewed stays as it is, and the cluster says what is wrong with it. ConnectError: the issuer
    does not answer, or does not accept the refresh token any more.
    """
    contexts = read_contexts(file)
    if not _is_due(contexts, name):
        return contexts
    with _alone(file):
        contexts = read_contexts(file)  # another command may have renewed it meanwhile
        login = _is_due(contexts, name)
        return keep_login(file, name, Issuer(login).renew()) if login else contexts


def keep_login(file: Path, name: str, login: Login) -> Contexts:
    """Write a login into the context of this name, and return all contexts."""
    known = read_contexts(file)
    kept = {key: value for key, value in known.clusters[name].items() if key not in ENTRY_KEYS}
    entry = {**kept, **login.entry()}
    contexts = Contexts(known.current, {**known.clusters, name: entry})
    write_contexts(file, contexts)
    return contexts


def forget_tokens(file: Path, name: str) -> bool:
    """Remove the tokens from a context, but keep its issuer and client. Return False if it had no tokens."""
    known = read_contexts(file)
    entry = known.clusters[name]
    left = {key: value for key, value in entry.items() if key not in TOKEN_KEYS}
    if len(left) == len(entry):
        return False
    write_contexts(file, Contexts(known.current, {**known.clusters, name: left}))
    return True


def _is_due(contexts: Contexts, name: str) -> Login | None:
    """Return the login of a context if its token has to be renewed and can be; None otherwise."""
    login = Login.of_context(contexts.clusters.get(name, {}))
    return login if login and login.refresh_token and login.ends_soon(time.time()) else None


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Keep other commands of this user waiting, as an issuer may accept a refresh token only once."""
    with file.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
