"""Checks an install without extras: plug-ins load or name their extra, and rows go through what is there without
NumPy.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("packaging", reason="pip install packaging")
HERE = Path(__file__).parent
ROOT = HERE.parents[2]
_LOADED = """
from install_without_extras import install

def failures(names):
    from connect.api.errors import ConnectError
    from connect.plugins.catalog import Catalog
    catalog = Catalog.installed()
    found = {}
    for plugin in catalog.plugins():
        if names is None or plugin.name in names:
            try:
                catalog.load(plugin)
            except ConnectError as error:
                found[plugin.name] = str(error)
    return len(catalog.plugins()), found

with install():
    count, failed = failures(None)
by_extra = {}
for name, told in failed.items():
    by_extra.setdefault(re.search(r"connect-for-kafka\\[([a-z0-9-]+)\\]", told)[1], []).append(name)
still = {}
for extra, names in by_extra.items():
    with install(extra):
        still |= failures(names)[1]
print(json.dumps([count, by_extra, still]))
"""
_TESTED = """
import pytest
from install_without_extras import lacking
with lacking({"numpy"}):
    ended = pytest.main(["-q", "-p", "no:schemathesis", "-p", "no:cacheprovider", "-m", "", *sys.argv[1:]])
print(json.dumps([ended, "numpy" in sys.modules]))
"""
TESTED = (
    "convert/test_convert_base64.py", "convert/test_convert_json.py", "file/test_data_files.py",
    "samples/test_samples_datagen.py", "transforms/test_transforms_extra.py",
)  # fmt: skip


def child(code: str, *arguments: str) -> tuple[Any, str]:
    """What a process of its own prints at last, and all that it prints."""
    argv = [
        sys.executable,
        "-c",
        f"import json, re, sys\nsys.path[:0] = {[str(HERE), str(ROOT / 'tests')]}\n{code}",
        *arguments,
    ]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=200, check=False, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr[-4000:]
    return json.loads(ran.stdout.splitlines()[-1]), ran.stdout


def test_a_plug_in_loads_or_names_an_extra_with_which_it_loads() -> None:
    (count, by_extra, still), _ = child(_LOADED)
    assert still == {}
    short = {extra: sorted({name.rpartition(".")[2] for name in names}) for extra, names in by_extra.items()}
    assert {"AvroConverter", "ProtobufConverter", "JsonSchemaConverter"} <= set(short["registry"]), short
    assert "JdbcSourceConnector" in short["jdbc"]
    assert "S3SinkConnector" in short["s3"]
    assert "CassandraSinkConnector" in short["cassandra"]
    assert count - sum(map(len, by_extra.values())) > 90


_EVENTS = """
from install_without_extras import install
with install():
    from connect.api.errors import ConfigError
    from connect.convert.cloudevents.config import CloudEventsConfig
    from connect.convert.cloudevents.converter import cloud_events
    cloud_events(CloudEventsConfig.parse({}))
    told = None
    try:
        cloud_events(CloudEventsConfig.parse(
            {"data.serializer.type": "avro", "avro.schema.registry.url": "http://registry"}))
    except ConfigError as error:
        told = str(error)
print(json.dumps(told))
"""


def test_events_in_avro_name_the_extra_before_there_are_any() -> None:
    told, _ = child(_EVENTS)
    assert "CloudEvents in Avro need the package numpy" in told
    assert "pip install 'connect-for-kafka[registry]'" in told


@pytest.mark.thorough
def test_what_an_install_without_extras_has_passes_its_tests_without_numpy() -> None:
    (ended, has_numpy), told = child(_TESTED, *(f"tests/unit/{name}" for name in TESTED))
    assert (ended, has_numpy) == (0, False), told
