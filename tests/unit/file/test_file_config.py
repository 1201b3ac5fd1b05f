"""The declarations of the file connectors, and which offsets may be set."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

import connectors.file
from connect.api.allowed_paths import EVERYWHERE
from connect.api.config import Config
from connect.api.errors import ConfigError, ConnectError
from connect.api.plugin import PluginKind
from connect.api.records import SourcePosition
from connect.lib.deadline import Deadline
from connect.plugins.catalog import Catalog
from connectors.file.config import FileStreamSinkConfig, FileStreamSourceConfig
from connectors.file.offsets import check_offsets, position_of
from connectors.file.plugin import SINK, SOURCE, connect_plugins
from connectors.file.sink import FileStreamSinkConnector
from connectors.file.source import FileStreamSourceConnector

README = Path(connectors.file.__file__).parent / "README.md"


def problems(config: type[Config], **given: str) -> dict[str, str]:
    try:
        config.parse({**EVERYWHERE, **{k.replace("_", "."): v for k, v in given.items()}})
    except ConfigError as error:
        return {p.key: p.message for p in error.problems}
    return {}


@pytest.mark.parametrize(
    "name", ["org.apache.kafka.connect.file.FileStream{}Connector", "FileStream{}Connector", "FileStream{}"]
)
def test_the_names_of_kafka_find_them(name: str) -> None:
    catalog = Catalog(connect_plugins())
    assert catalog.find(name.format("Source"), PluginKind.SOURCE) is SOURCE
    assert catalog.find(name.format("Sink"), PluginKind.SINK) is SINK


def test_keys_and_defaults_are_those_of_kafka() -> None:
    assert [(d.name, d.default, d.required) for d in FileStreamSourceConfig.definitions() if not d.internal] == [
        ("file", None, False),
        ("topic", None, True),
        ("batch.size", "2000", False),
    ]
    assert [(d.name, d.default, d.required) for d in FileStreamSinkConfig.definitions() if not d.internal] == [
        ("file", None, False)
    ]


def test_broken_keys_are_named_in_the_words_of_kafka() -> None:
    missing = 'Missing required configuration "topic" which has no default value.'
    assert problems(FileStreamSourceConfig, batch_size="x") == {
        "topic": missing,
        "batch.size": "Invalid value x for configuration batch.size: Not a number of type INT",
    }
    empty = "Invalid value  for configuration topic: String must be non-empty"
    assert problems(FileStreamSourceConfig, topic="") == {"topic": empty}


@pytest.mark.parametrize("config", [FileStreamSourceConfig, FileStreamSinkConfig])
@pytest.mark.parametrize("key", ["allowed.paths", "file.stream.paths"])
def test_both_may_name_what_the_worker_lists_alone(config: type[Config], key: str, tmp_path: Path) -> None:
    allowed, outside = tmp_path / "allowed", tmp_path / "outside"
    allowed.mkdir()
    outside.mkdir()
    (allowed / "link").symlink_to(outside)
    leave = {key: f"{allowed}, {outside}/one.txt"}

    def named(file: Path, worker: dict[str, str]) -> set[str]:
        given = {"file": str(file), "topic": "t", key: "/"}
        values = config.validate_keys(config.with_leave(given, worker))
        return {error for value in values for error in value.errors}

    for file in (allowed / "a" / "b.txt", outside / "one.txt"):
        assert named(file, leave) == set()
    for file in (outside / "b.txt", allowed / ".." / "outside" / "b.txt", allowed / "link" / "b.txt"):
        assert f"add to the worker's own file: allowed.paths=…,{file} " in named(file, leave).pop()
    assert f"allowed.paths={allowed}/a " in named(allowed / "a", {}).pop()


def test_neither_task_opens_a_file_by_a_link_that_is_made_behind_the_check(tmp_path: Path) -> None:
    allowed, outside = tmp_path / "allowed", tmp_path / "outside"
    allowed.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text("secret\n")
    given = {"file": f"{allowed}/link/secret.txt", "topic": "t", "topics": "t", "allowed.paths": str(allowed)}
    source = FileStreamSourceConnector(FileStreamSourceConfig.parse(given)).task(given)
    given["file"] = f"{allowed}/link/new.txt"
    sink = FileStreamSinkConnector(FileStreamSinkConfig.parse(given)).task(given)
    (allowed / "link").symlink_to(outside)
    with pytest.raises(ConfigError, match="this worker lets no configuration name"):
        source.poll(Deadline.after(0))
    with pytest.raises(ConfigError, match="this worker lets no configuration name"):
        sink.open(SimpleNamespace())  # type: ignore[arg-type]  # nothing is asked of it
    assert [file.name for file in outside.iterdir()] == ["secret.txt"], "the sink has made no file"


def test_exactly_once_needs_a_file() -> None:
    required = {"topic": "t", "exactly_once_support": "REQUIRED"}
    assert list(problems(FileStreamSourceConfig, **required)) == ["exactly.once.support"]
    assert problems(FileStreamSourceConfig, file="f", **required) == {}
    assert problems(FileStreamSourceConfig, topic="t", exactly_once_support="requested") == {}


def test_the_source_has_one_task_and_the_sink_as_many_as_allowed() -> None:
    source = FileStreamSourceConnector(FileStreamSourceConfig.parse({**EVERYWHERE, "file": "f", "topic": "t"}))
    assert source.task_configs(5) == [{"file": "f", "topic": "t"}]
    sink = FileStreamSinkConnector(FileStreamSinkConfig.parse({**EVERYWHERE, "file": "f"}))
    assert sink.task_configs(2) == [{"file": "f"}, {"file": "f"}]


def test_check_names_what_is_in_the_way(tmp_path: Path) -> None:
    def source(path: Path) -> FileStreamSourceConnector:
        return FileStreamSourceConnector(FileStreamSourceConfig.parse({**EVERYWHERE, "file": str(path), "topic": "t"}))

    def sink(path: Path) -> FileStreamSinkConnector:
        return FileStreamSinkConnector(FileStreamSinkConfig.parse({**EVERYWHERE, "file": str(path)}))

    now = Deadline.after(1.0)
    source(tmp_path / "not-yet").check(now)
    sink(tmp_path / "not-yet").check(now)
    with pytest.raises(ConfigError, match="no regular file"):
        source(tmp_path).check(now)
    with pytest.raises(
        ConfigError, match=r"Couldn't find or create file '.*' for FileStreamSinkTask: it is a directory"
    ):
        sink(tmp_path).check(now)
    with pytest.raises(ConfigError, match=r"the directory .*/none does not exist; make it"):
        sink(tmp_path / "none" / "f").check(now)


LONG = "The value for the 'position' key in the offset is expected to be a Long value"
KEY = "Offset objects should either be null or contain the key 'position'"


@pytest.mark.parametrize(
    ("partition", "offset", "message"),
    [
        ({"filename": "x"}, {"position": "2"}, LONG),
        ({"filename": "x"}, {"position": 1.5}, LONG),
        ({"filename": "x"}, {"position": True}, LONG),
        ({"filename": "x"}, {"position": None}, LONG),
        ({"filename": "x"}, {"position": 2**63}, LONG),
        (
            {"filename": "x"},
            {"position": -2},
            "The value for the 'position' key in the offset should be a non-negative value",
        ),
        ({"filename": "x"}, {"pos": 2}, KEY),
        ({"filename": "x"}, {}, KEY),
        ({"f": "x"}, {"position": 2}, "Partition objects should contain the key 'filename'"),
        (None, {"position": 2}, "Partition objects cannot be null"),
    ],
)
def test_offsets_that_are_no_place_are_refused(partition: dict, offset: dict, message: str) -> None:
    connector = FileStreamSourceConnector(FileStreamSourceConfig.parse({**EVERYWHERE, "file": "x", "topic": "t"}))
    with pytest.raises(ConnectError) as caught:
        connector.alter_offsets([SourcePosition({"filename": "x"}, {"position": 1}), SourcePosition(partition, offset)])
    assert str(caught.value) == message


def test_offsets_of_any_file_may_be_set_and_anything_forgotten() -> None:
    check_offsets("x", [SourcePosition({"filename": "y"}, {"position": 0}), SourcePosition({"odd": 1}, None)])


@pytest.mark.parametrize("file", [None, ""])
def test_standard_input_has_no_offsets(file: str | None) -> None:
    with pytest.raises(ConnectError, match="Offsets cannot be modified if the 'file' configuration is unspecified"):
        check_offsets(file, [])


def test_a_stored_offset_is_the_byte_to_read_next() -> None:
    assert position_of(None) == position_of({}) == position_of({"position": None}) == 0
    assert position_of({"position": 42}) == 42
    with pytest.raises(ConnectError, match=r"Offset position is the incorrect type: str.*PATCH"):
        position_of({"position": "42"})


@pytest.mark.parametrize("config", [FileStreamSourceConfig, FileStreamSinkConfig])
def test_the_readme_lists_every_key(config: type[Config]) -> None:
    text = README.read_text(encoding="utf-8")
    for d in (d for d in config.definitions() if not d.internal):
        default = "required" if d.required else f"`{d.default}`" if d.default else ""
        assert f"| `{d.name}` | {d.type.lower()} | {default} | {d.doc} |" in text
