"""Checks that the Redis sinks speak TLS with a real server of their own authorities, and with no other one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
import trustme

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError
from connect.lib.deadline import Deadline
from connect.tools.services.process.errors import ArtifactError
from connect.tools.services.redis import RedisService
from connectors.redis.config import HostsRedisSinkConfig, RedisSinkConfig
from connectors.redis.sink import RedisSinkConnector

pytestmark = pytest.mark.integration


class TlsRedis(RedisService):
    """Keeps a Redis that speaks TLS alone."""

    def __init__(self, store: Path) -> None:
        super().__init__()
        self._store = store

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        plain = [*super()._command(folder, ports, deadline_s)]
        at = plain.index("--port")
        own = ("--tls-port", plain[at + 1], "--port", "0", "--tls-auth-clients", "no")
        return [*plain[:at], *own, "--tls-cert-file", str(self._store), "--tls-key-file", str(self._store),
                "--tls-ca-cert-file", str(self._store), *plain[at + 2 :]]  # fmt: skip


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def port(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    store = tmp_path_factory.mktemp("tls") / "server.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(store))
    service = TlsRedis(store)
    try:
        service.prepare()
    except ArtifactError as missing:
        pytest.skip(str(missing))
    with service:
        yield service.endpoint.port


@pytest.fixture
def own(authority: trustme.CA, tmp_path: Path) -> str:
    authority.cert_pem.write_to_path(str(tmp_path / "own.pem"))
    return str(tmp_path / "own.pem")


@pytest.fixture
def other(tmp_path: Path) -> str:
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "other.pem"))
    return str(tmp_path / "other.pem")


def check(port: int, **keys: str) -> None:
    given = {f"redis.{name}": value for name, value in keys.items()}
    config = RedisSinkConfig.parse({**EVERYWHERE, "redis.uri": f"rediss://127.0.0.1:{port}/0", **given})
    RedisSinkConnector(config).check(Deadline.after(20))


def test_the_named_authorities_count_in_place_of_the_systems(
    port: int, own: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(port, cacert=own)
    monkeypatch.setenv("SSL_CERT_FILE", own)
    check(port)
    with pytest.raises(ConfigError, match="certificate verify failed"):
        check(port, cacert=other)
    given = {"redis.hosts": f"127.0.0.1:{port}", "redis.ssl.enabled": "true", "redis.ssl.truststore.path": other}
    with pytest.raises(ConfigError, match="certificate verify failed"):
        RedisSinkConnector(HostsRedisSinkConfig.parse({**EVERYWHERE, **given})).check(Deadline.after(20))


def test_a_server_of_an_unknown_authority_is_refused_unless_any_will_do(port: int, other: str) -> None:
    with pytest.raises(ConfigError, match="certificate verify failed"):
        check(port)
    check(port, insecure="true", cacert=other)


def test_a_file_without_authorities_is_named(port: int, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    with pytest.raises(ConfigError, match=r"empty\.pem cannot be used"):
        check(port, cacert=str(tmp_path / "empty.pem"))
