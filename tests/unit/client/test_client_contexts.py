"""Commands speak to the cluster that an option, a context or a variable names, and as the user that it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from connect.api.errors import ConfigError
from connect.cli.context import context
from connect.client.contexts import Contexts, chosen, read_contexts
from connect.client.rest import Access

CLUSTERS = Contexts("near", {"near": {"url": "http://near"}, "far": {"url": "http://far", "token_env": "FAR_TOKEN"}})
LOGIN = {"CONNECT_USER": "ada", "CONNECT_PASSWORD": "lovelace"}


@pytest.mark.parametrize(
    ("given", "environ", "expected"),
    [
        ((None, None), {}, Access("http://near")),
        (("http://x", "far"), LOGIN, Access("http://x", "ada", "lovelace")),
        ((None, "far"), {**LOGIN, "FAR_TOKEN": "t"}, Access("http://far", token="t")),
        ((None, "far"), {"CONNECT_TOKEN": "t"}, Access("http://far")),
        ((None, None), {"CONNECT_URL": "http://y", "CONNECT_TOKEN": "t"}, Access("http://y", token="t")),
    ],
)
def test_the_cluster_and_the_login_are_chosen(given: Any, environ: dict[str, str], expected: Access) -> None:
    assert chosen(*given, CLUSTERS, environ) == expected


def test_without_anything_it_is_the_local_worker() -> None:
    assert chosen(None, None, Contexts(None, {}), {"CONNECT_TOKEN": "t"}) == Access("http://localhost:8083", token="t")


def test_a_token_is_not_shown() -> None:
    assert "secret" not in repr(Access("http://x", token="secret"))


def test_a_context_names_the_variable_of_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "contexts.yaml"
    monkeypatch.setenv("CONNECT_CONTEXTS", str(file))
    ran = CliRunner().invoke(context, ["add", "far", "http://far", "--token-env", "FAR_TOKEN"])
    assert ran.exit_code == 0, ran.output
    assert read_contexts(file).clusters == {"far": {"url": "http://far", "token_env": "FAR_TOKEN"}}


def test_a_file_that_may_not_be_looked_at_is_named(tmp_path: Path) -> None:
    """So is one below another user's home, which commands of an image see where HOME was left as it was."""
    with pytest.raises(ConfigError, match="cannot be read") as refused:
        read_contexts(tmp_path / ("x" * 300))
    assert "CONNECT_CONTEXTS" in str(refused.value)
    (tmp_path / "file").write_text("")
    assert read_contexts(tmp_path / "file" / "contexts.yaml").clusters == {}
