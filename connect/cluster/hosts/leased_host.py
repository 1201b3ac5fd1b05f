"""Runs a task host that works only as long as its worker holds the lease: `--fd N --lease M --report R`.

Where processes cannot be forked from a server (see `fork_server`), each host is started as a program of its own.
"""

from __future__ import annotations

import argparse
import socket
import sys

from connect.cluster.hosts.host_validation import validate_in_host
from connect.cluster.hosts.lease import watch
from connect.runtime.host.host import run_host
from connect.runtime.host.parent_death import die_with_parent


def main() -> int:
    """Run a task host until its worker is gone or the lease has run out."""
    parser = argparse.ArgumentParser(prog="connect.cluster.hosts.leased_host")
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--lease", type=int, required=True)
    parser.add_argument("--report", type=int, required=True)
    given = parser.parse_args()
    watch(given.lease, given.report)
    die_with_parent()
    run_host(socket.socket(fileno=given.fd), given.report, validate_in_host)


if __name__ == "__main__":
    sys.exit(main())
