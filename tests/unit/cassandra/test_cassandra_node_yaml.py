"""One agent's file for all nodes: the folder, the address, the port and the encryption come from cassandra.yaml."""

from __future__ import annotations

import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError
from connectors.cassandra.log.agent_config import CassandraAgentConfig

pytestmark = pytest.mark.quick
NODE = "cdc_enabled: true\ncdc_raw_directory: /data/cdc_raw\n"


@pytest.fixture
def parse(tmp_path):
    def parse(text: str, **given: str) -> CassandraAgentConfig:
        (tmp_path / "cassandra.yaml").write_text(text)
        more = {key.replace("_", "."): value for key, value in given.items()}
        return CassandraAgentConfig.parse(
            {"cassandra.yaml": str(tmp_path / "cassandra.yaml"), **more, **EVERYWHERE}
        )  # fmt: skip

    return parse


def test_the_nodes_file_says_where_it_is(parse):
    config = parse(f"{NODE}rpc_address: 10.0.0.7\nnative_transport_port: 9142\n")
    assert (config.cdc_raw_folder, config.contact_points, config.port) == ("/data/cdc_raw", ("10.0.0.7",), 9142)
    assert not config.ssl_enabled


def test_what_the_agent_is_given_counts(parse):
    config = parse(f"{NODE}rpc_address: 10.0.0.7\n", cdc_raw_folder="/other", port="1", contact_points="node")
    assert (config.cdc_raw_folder, config.contact_points, config.port) == ("/other", ("node",), 1)


@pytest.mark.parametrize("address", ["0.0.0.0", "'::'", ""])
def test_a_node_that_listens_everywhere_is_asked_on_loopback(parse, address):
    config = parse(f"{NODE}rpc_address: {address}\n")
    assert (config.contact_points, config.port) == (("127.0.0.1",), 9042)


@pytest.mark.parametrize(
    ("options", "is_encrypted"),
    [("enabled: true", True), ("enabled: true, optional: true", False), ("enabled: false", False)],
)
def test_a_node_that_takes_encrypted_connections_alone_is_spoken_to_so(parse, options, is_encrypted):
    text = f"{NODE}client_encryption_options: {{{options}}}\n"
    assert parse(text).ssl_enabled is is_encrypted
    assert not parse(text, ssl_enabled="false").ssl_enabled


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cdc_raw_directory: /x\n", "no cdc_enabled: true"),
        ("cdc_enabled: false\n", "no cdc_enabled: true"),
        ("cdc_enabled: true\n", "no cdc_raw_directory"),
        ("- a\n", "holds no settings but a list"),
        ("", "holds no settings but a NoneType"),
        ("a: [\n", "cannot be read"),
        ("a: \x00\n", "cannot be read"),
    ],
)
def test_a_file_of_no_use_is_named(parse, text, said, tmp_path):
    with pytest.raises(ConfigError, match=said) as raised:
        parse(text)
    assert str(tmp_path / "cassandra.yaml") in str(raised.value)
    assert raised.value.key == "cassandra.yaml"


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        CassandraAgentConfig.parse({"cassandra.yaml": str(tmp_path / "none.yaml"), **EVERYWHERE})
