"""Keys without effect, and what plug-ins say of right settings: beside the answer that Java's clients know."""

from __future__ import annotations

from collections.abc import Iterable

from sample_plugins import (
    CAST,
    FILE_SINK,
    FILE_SOURCE,
    JSON,
    VAULT_SOURCE,
    FileSinkConfig,
    catalog,
    plugin,
    worker_config,
)

from connect.api.errors import ConfigProblem
from connect.api.plugin import PluginKind
from connect.cluster.model.validation_infos import ConfigInfos
from connect.cluster.validation.check import Validator
from connect.plugins.catalog import Catalog


def validate(cls: str, **keys: str) -> ConfigInfos:
    base = {"name": "k", "connector.class": cls}
    base |= {"topics": "a"} if cls == FILE_SINK else {"topic": "a"} if cls == FILE_SOURCE else {}
    return Validator(catalog(), worker_config()).validate({**base, **keys})


def test_an_unknown_key_is_noted_with_the_nearest_one_and_is_no_error() -> None:
    found = validate(FILE_SOURCE, **{"batch.sise": "1", "error.tolerance": "all", "quite.another": "hunter2"})
    assert found.error_count == 0
    assert found.notes == (
        "batch.sise: nobody knows this key, so it has no effect. Is batch.size meant?",
        "error.tolerance: nobody knows this key, so it has no effect. Is errors.tolerance meant?",
        "quite.another: nobody knows this key, so it has no effect.",
    )
    assert list(found.as_json())[-1] == "notes"
    assert ConfigInfos.of_json(found.as_json()) == found


def test_the_former_name_of_a_transforms_key_works_and_is_noted() -> None:
    replace = "org.apache.kafka.connect.transforms.ReplaceField$Value"
    config = {"name": "k", "connector.class": "FileStreamSource", "file": "f", "topic": "a", "transforms": "drop"}
    config |= {"transforms.drop.type": replace, "transforms.drop.blacklist": "card"}
    found = Validator(Catalog.installed(), worker_config()).validate(config)
    assert [note for note in found.notes if "blacklist" in note] == [
        "transforms.drop.blacklist: this key is named transforms.drop.exclude now; its former name goes on working."
    ]


def test_keys_of_a_family_that_a_declaration_acts_on_are_not_noted() -> None:
    class Masking(FileSinkConfig):
        families = ("mask.",)

    found = Validator(Catalog([plugin(PluginKind.SINK, "Masking", Masking)]), worker_config()).validate(
        {"name": "k", "connector.class": "Masking", "topics": "a", "mask.b": "*", "masks.b": "*"}
    )
    assert found.notes == ("masks.b: nobody knows this key, so it has no effect.",)


def test_what_becomes_of_a_key_that_a_plugin_takes_undeclared_is_the_plugins_own_to_say() -> None:
    class Renaming(FileSinkConfig):
        def notes(self) -> Iterable[ConfigProblem]:
            yield ConfigProblem("old.name", "It stands for file.")

    found = Validator(Catalog([plugin(PluginKind.SINK, "Renaming", Renaming)]), worker_config()).validate(
        {"name": "k", "connector.class": "Renaming", "topics": "a", "old.name": "f", "old.names": "f"}
    )
    assert found.notes == ("old.names: nobody knows this key, so it has no effect.", "old.name: It stands for file.")


def test_keys_that_somebody_takes_are_not_noted() -> None:
    known = {
        "transforms": "c", "transforms.c.type": CAST, "transforms.c.spec": "int8", "key.converter": JSON,
        "key.converter.schemas.enable": "false", "producer.override.linger.ms": "5", "tasks.max.enforce": "true",
        "topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1",
        "topic.creation.default.cleanup.policy": "compact", "errors.tolerance.limit.count": "3",
    }  # fmt: skip
    found = validate(FILE_SOURCE, **known)
    assert found.notes == ()
    assert "notes" not in found.as_json()
    assert validate(VAULT_SOURCE, **{"connection.url": "u", "internal.switch": "true"}).notes == ()


def test_a_transform_that_is_not_listed_and_a_converter_without_its_class_are_noted() -> None:
    keys = {"transforms.c.type": CAST, "transforms": "d", "transforms.d.type": CAST, "transforms.d.spek": "int8"}
    found = validate(FILE_SINK, **keys, **{"value.converter.schemas.enable": "false"})
    assert found.notes == (
        "transforms.c.type: no effect, as transforms does not list c.",
        "transforms.d.spek: nobody knows this key, so it has no effect. Is transforms.d.spec meant?",
        "value.converter.schemas.enable: no effect without value.converter; the worker's has its own settings.",
    )


def test_a_plugin_says_what_is_worth_knowing_of_right_settings(monkeypatch) -> None:
    def notes(self: FileSinkConfig) -> Iterable[ConfigProblem]:
        yield ConfigProblem("file", f"{self.file} is overwritten.")

    monkeypatch.setattr(FileSinkConfig, "notes", notes)
    assert validate(FILE_SINK, file="/x").notes == ("file: /x is overwritten.",)
    assert validate(FILE_SINK, **{"file": "/x", "tasks.max": "none"}).error_count > 0


def test_a_placeholder_of_a_provider_that_the_worker_lacks_is_noted_also_where_the_configuration_is_refused() -> None:
    keys = {"file": "${vault:secrets/db:file}", "batch.size": "many", "header.converter": JSON}
    found = validate(FILE_SOURCE, **keys)
    (note,) = found.notes
    assert note.startswith("file: the worker has no config provider vault (it has none), so the placeholder is used")
    assert f"\nNote: {note}\n" in found.message()
    assert "Note:" not in validate(FILE_SOURCE, **{"batch.size": "many", "error.tolerance": "all"}).message()
    own = validate(FILE_SOURCE, **{"batch.size": "${vault:secrets/db:size}"})
    assert (own.error_count, len(own.notes), "Note:" in own.message()) == (1, 1, False)
