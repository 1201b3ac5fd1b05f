from pathlib import Path

import pytest

from connect.api.errors import ConfigError
from connect.cluster.worker_file import read_worker_file
from connect.runtime.worker_config import WorkerConfig

CONFIGS = Path(__file__).parents[3] / "configs"


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_yaml_becomes_the_same_text_properties(tmp_path):
    path = written(
        tmp_path,
        "w.yaml",
        "bootstrap.servers: [a:1, b:2]\nkey.converter.schemas.enable: false\nproducer:\n  acks: all\nnothing:\nn: 5\n",
    )
    assert read_worker_file(path).properties == {
        "bootstrap.servers": "a:1,b:2",
        "key.converter.schemas.enable": "false",
        "producer.acks": "all",
        "n": "5",
    }


def test_overrides_win_over_the_file(tmp_path):
    path = written(tmp_path, "w.properties", "a=1\nb=2\n")
    assert read_worker_file(path, ["b=3=x", " c = 4"]).properties == {"a": "1", "b": "3=x", "c": "4"}


def test_keys_of_the_jvm_are_explained(tmp_path):
    path = written(tmp_path, "w.properties", "plugin.path=/x\ngroup.id=g\n")
    assert read_worker_file(path).notes == (
        "plugin.path has no effect: plug-ins are Python packages: pip install them next to the worker",
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [("w.yaml", "- a\n"), ("w.yaml", "a: [\n"), ("w.properties", "a=\\uZZZZ"), ("w.properties", None)],
)
def test_a_broken_file_is_named(tmp_path, name, text):
    path = tmp_path / name if text is None else written(tmp_path, name, text)
    with pytest.raises(ConfigError, match=name):
        read_worker_file(path)


def test_an_override_without_a_value_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="--set nothing"):
        read_worker_file(written(tmp_path, "w.properties", ""), ["nothing"])


def test_the_shown_text_of_a_file_holds_no_secret(tmp_path):
    assert "hush" not in repr(read_worker_file(written(tmp_path, "w.properties", "sasl.password=hush")))


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("worker-*")), ids=lambda p: p.name)
def test_the_examples_are_right(path):
    config = WorkerConfig.parse(read_worker_file(path).properties)
    assert config.group_id
