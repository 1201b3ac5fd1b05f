"""`connect dev --with` takes the databases that it knows, and keeps their ports."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from connect.api.errors import ConnectError
from connect.cli import main
from connect.tools.dev.addresses import USUAL, ports_of
from connect.tools.dev.databases import DATABASES, databases_of
from connect.tools.services.process.port_claims import PortClaims

pytestmark = pytest.mark.quick


def test_unknown_names_are_refused_with_the_list_before_anything_starts(tmp_path):
    done = CliRunner().invoke(main, ["dev", "--folder", str(tmp_path / "env"), "--with", "bigqery,postgres,oracle"])
    assert done.exit_code == 1
    assert "'bigqery', 'oracle'" in done.output
    assert "is bigquery meant?" in done.output
    assert "bigquery, cassandra, postgres, mariadb" in done.output
    assert not (tmp_path / "env").exists()


def test_names_count_once_in_any_case():
    assert [found.name for found in databases_of(" Postgres, bigquery,,postgres ")] == ["postgres", "bigquery"]
    assert databases_of("") == ()


def test_a_database_that_is_added_later_leaves_the_ports_of_the_others(tmp_path):
    before = ports_of(tmp_path, {}, lambda port: True)
    postgres = {"postgres": DATABASES["postgres"].ports}
    after = ports_of(tmp_path, postgres, lambda port: True)
    assert {name: after[name] for name in USUAL} == before
    assert ports_of(tmp_path, {}, lambda port: True)["postgres"] == after["postgres"], (
        "noted also while it is not asked for"
    )
    assert ports_of(tmp_path, postgres, lambda port: True) == after


def test_a_note_that_lacks_a_port_is_told_by_its_name(tmp_path):
    ports = ports_of(tmp_path, {"postgres": {"port": 5432}}, lambda port: True)
    (tmp_path / "ports.json").write_text(json.dumps({**ports, "postgres": {}}))
    with pytest.raises(ConnectError, match=r"postgres\.port missing"):
        ports_of(tmp_path, {"postgres": {"port": 5432}}, lambda port: True)


@pytest.mark.parametrize(
    ("name", "table"), [("cassandra", "shop.orders"), ("postgres", "orders"), ("mariadb", "orders")]
)
def test_a_source_says_by_which_statement_its_table_is_made(name, table):
    assert f"CREATE TABLE {table} (id " in DATABASES[name].about


def test_two_environments_that_start_in_the_same_moment_choose_other_ports(tmp_path):
    """Nothing listens yet when the second one looks."""
    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        folder.mkdir()
    with PortClaims(tmp_path / "ports") as one, PortClaims(tmp_path / "ports") as other:
        first, second = (
            ports_of(folder, {}, claims.take) for folder, claims in zip(folders, (one, other), strict=True)
        )
    taken, chosen = ({port for ports in of.values() for port in ports.values()} for of in (first, second))
    assert len(taken) == len(chosen) == sum(map(len, USUAL.values()))
    assert not taken & chosen
    with PortClaims(tmp_path / "ports") as later:
        assert all(map(later.take, taken | chosen)), "a port stays claimed behind the end of its environment"
