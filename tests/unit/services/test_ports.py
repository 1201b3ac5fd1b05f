import os
import socket
import sys
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from connect.tools.services.process.errors import PortTakenError
from connect.tools.services.process.ports import accepts_connections, free_ports, listener_of, require_free


def test_free_ports_differ_and_can_be_bound() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    require_free(ports)


def test_free_ports_are_below_the_range_of_outgoing_connections() -> None:
    assert max(free_ports(50)) < 32_000


def test_a_taken_port_is_named_with_the_fix() -> None:
    with listening() as port, pytest.raises(PortTakenError, match=rf"Port {port} .* already in use.*another port"):
        require_free([port], wait_s=0.05)


def test_a_port_with_closed_connections_is_free() -> None:
    with listening() as port:
        assert accepts_connections(port)
    require_free([port])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells cheaply who listens")
def test_the_owner_of_a_taken_port_is_named() -> None:
    with listening() as port:
        assert f"(pid {os.getpid()})" in (listener_of(port) or "")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells cheaply who listens")
def test_the_owner_of_a_taken_port_is_named_although_it_closes_a_file_meanwhile() -> None:
    gap = os.open(os.devnull, os.O_RDONLY)
    with listening() as port:
        os.close(gap)  # the look itself opens and closes a folder of this number
        assert f"(pid {os.getpid()})" in (listener_of(port) or "")


class listening:  # noqa: N801 -- reads as a function
    def __enter__(self) -> int:
        self.socket = socket.create_server(("127.0.0.1", 0))
        return int(self.socket.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def test_a_port_that_is_let_go_of_within_a_moment_is_free():
    with ThreadPoolExecutor(1) as beside:
        with listening() as port:
            checked = beside.submit(require_free, [port], 30.0)
            assert wait([checked], timeout=0.1).not_done
        checked.result()
