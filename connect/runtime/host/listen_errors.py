"""Tells whoever starts a worker or an agent why it cannot listen at an address, and what to do."""

from __future__ import annotations

import errno
import socket
from typing import Final

from connect.api.errors import ConfigError

_ROOT_PORTS: Final = 1024
"""Only root may listen at ports below this one."""


def cannot_listen(error: OSError, doing: str, host: str, port: int, key: str) -> ConfigError:
    """Return an error that explains one of `bind` or `listen`. `doing` says what failed; `key` names the setting."""
    why = error.strerror or str(error)
    fix = f"Give {key} another address; port 0 takes a free port."
    if error.errno == errno.EADDRINUSE:
        why = f"port {port} is taken, perhaps by a worker or an agent that still runs on this machine"
        fix = (
            f"See who has it by `ss -ltnp 'sport = :{port}'`, and end that program; or give {key} another port, "
            "where 0 takes a free one."
        )
    elif error.errno in {errno.EACCES, errno.EPERM} and port < _ROOT_PORTS:
        why = f"port {port} is below {_ROOT_PORTS}, and such ports are for root"
        fix = f"Give {key} a port from {_ROOT_PORTS} on."
    elif error.errno == errno.EADDRNOTAVAIL or isinstance(error, socket.gaierror):
        why = f"{host} is no address of this machine"
        fix = f"Let {key} name one that is; 0.0.0.0 stands for all of them, 127.0.0.1 for the machine's own alone."
    return ConfigError(f"{doing}: {why}.", key=key, fix=fix)
