"""The reference is what the declarations say, and says something of everything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import click
import pytest

import connect
from connect.api.config import Config, Double, Int, Password, String, at_least, between, key, one_of
from connect.api.plugin import Plugin, PluginKind
from connect.cli import main
from connect.plugins.catalog import Catalog
from connect.runtime.settings.config_providers import BUILT_IN
from connect.runtime.settings.connector_config import SinkConnectorConfig, SourceConnectorConfig
from connect.runtime.settings.worker_config import WorkerConfig
from connect.tools.reference.commands import command_lines
from connect.tools.reference.keys import key_table
from connect.tools.reference.markdown import code, escaped
from connect.tools.reference.page import reference

WRITTEN = Path(connect.__file__).parent / "REFERENCE.md"
PAGE = reference(Catalog.installed(), main)
DECLARED = {
    config.__name__: config
    for config in (
        WorkerConfig, SourceConnectorConfig, SinkConnectorConfig,
        *(plugin.config for plugin in (*Catalog.installed().plugins(), *BUILT_IN)),
    )
}  # fmt: skip


def test_the_file_is_what_the_declarations_say() -> None:
    assert WRITTEN.read_text(encoding="utf-8") == PAGE, "A declaration has changed: run `make reference` and commit."


@pytest.mark.parametrize("config", DECLARED.values(), ids=DECLARED)
def test_every_key_has_a_text_and_a_line(config: type[Config]) -> None:
    shown = [d for d in config.definitions() if not d.from_worker]
    assert [d.name for d in shown if len(d.doc.split()) < 2] == []
    lines = set(PAGE.splitlines())
    if config in {SourceConnectorConfig, SinkConnectorConfig}:
        assert all(f"| `{d.name}` | {d.type.lower()} |" in PAGE for d in shown)
    else:
        assert [line for line in key_table(config) if line not in lines] == []


def options(command: click.Command, path: str = "connect") -> Iterator[tuple[str, click.Option]]:
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), name)
            assert found is not None
            yield from options(found, f"{path} {name}")
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            yield path, option


def test_every_option_of_a_command_has_a_text_and_a_line() -> None:
    found = list(options(main))
    assert len(found) > 100
    assert [(path, option.name) for path, option in found if not option.help] == []
    assert [(path, option.name) for path, option in found if code(option.opts[0]) not in PAGE] == []


def test_no_line_tells_of_this_machine_or_of_the_insides_of_a_library() -> None:
    assert str(Path.home()) not in PAGE
    assert re.findall(r"Sentinel|UNSET|<[a-z]+ object", PAGE) == []


class Keys(Config):
    """One key of each kind."""

    file: String = key("file", doc="A file | or a *pattern* with `a|b`.")
    rows: Annotated[Int, at_least(1)] | None = key("rows", None, doc="How many rows.")
    share: Annotated[Double, between(0, 0.5)] = key("share", 0.25, doc="Which share.")
    form: Annotated[String, one_of("json", "text")] = key("form", "json", doc="Which form.")
    prefix: String = key("prefix", "", doc="What names begin with.")
    password: Password = key("password", None, doc="The password.")
    given: String = key("given", "", doc="The worker gives it.", from_worker=True)


def test_a_key_has_its_type_default_and_what_is_allowed() -> None:
    assert key_table(Keys)[2:] == [
        r"| `file` | string | **required** |  | A file \| or a \*pattern\* with `a\|b`. |",
        "| `rows` | int |  | at least 1 | How many rows. |",
        "| `share` | double | `0.25` | 0 to 0.5 | Which share. |",
        "| `form` | string | `json` | `json`, `text` | Which form. |",
        "| `prefix` | string | empty |  | What names begin with. |",
        "| `password` | password |  |  | The password. |",
        "",
    ]


def test_a_plug_in_of_another_package_is_on_the_page() -> None:
    mine = Plugin(PluginKind.SOURCE, "org.example.Mine", "mine:Mine", Keys, "1.2", "Reads mine.", ("org.example.Ours",))
    page = reference(Catalog([mine]), click.Group("connect"))
    assert "### Mine\n\nReads mine.\n\n`org.example.Mine`, `org.example.Ours`; version 1.2.\n" in page
    assert "\n".join(key_table(Keys)) in page


def test_a_command_has_its_usage_and_its_options() -> None:
    @click.command()
    @click.argument("file")
    @click.option("--rows", default=5, help="How many.")
    @click.option("--all/--some", "everything", default=True, help="Whether all.")
    @click.option("--must", required=True, help="Is needed.")
    def move(file: str, rows: int, everything: bool, must: str) -> None:
        """Move rows."""

    lines = command_lines(click.Group("top", {"move": move}), "top")
    start = lines.index("### top move")
    assert lines[start : start + 6] == ["### top move", "", "Move rows.", "", "```", "top move [OPTIONS] FILE"]
    assert "| `--rows` `INTEGER` | `5` | How many. |" in lines
    assert "| `--all`, `--some` |  | Whether all. |" in lines
    assert "| `--must` `TEXT` | **required** | Is needed. |" in lines


def test_markup_in_a_text_is_shown_as_it_is() -> None:
    assert escaped("a <b>\n [c] `d*e`") == r"a \<b\> \[c\] `d*e`"
