"""Checks what a stranger has to touch to add a variant: dedup mode, file format, database, transform, resource and its
command.

Each test adds a made-up one to a copy of the product and uses it from end to end. "Where do I add X?" of
ARCHITECTURE.md names the files.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tree_copy import ROOT, TreeCopy

pytestmark = pytest.mark.thorough
MOST_FILES = 2


@pytest.fixture
def product(tmp_path: Path) -> TreeCopy:
    return TreeCopy(tmp_path / "product")


def named_in_architecture(names: set[str]) -> None:
    """The map tells a stranger the files that change, and the folders of those that are new."""
    text = (ROOT / "connect/ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Where do I add X?")[2]
    for name in names:
        path = Path(name).relative_to(Path(name).parts[0])
        assert str(path) in text or f"`{path.parent}/`" in text, f"{name} is not named in Where do I add X?"


DEDUP_MODE = '''"""dedup.mode=keep_marked: each record is added with where it stands in Kafka."""

from __future__ import annotations

from dataclasses import replace

from connectors.bigquery.dedup.rules import DedupRules
from connectors.bigquery.modes.append import AppendMode


class KeepMarkedMode(AppendMode):
    """Adds every record with its coordinates."""

    name = "keep_marked"
    doc = "each record is a row that says where it stands in Kafka."

    @property
    def rules(self) -> DedupRules:
        """Return rules with columns for topic, partition and offset."""
        return replace(super().rules, has_coordinates=True)
'''
WRITE_TO_BIGQUERY = """
import json
from contextlib import nullcontext
import pyarrow as pa
from connect.api import schema as s
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery import sink
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.warehouse.service_clock import ServiceClock
from connectors.bigquery.warehouse.table_facts import TableFacts

class Dataset:
    tables, rows, clock = {}, [], ServiceClock()
    def within(self, deadline): return nullcontext()
    def look(self): pass
    def stop(self): pass
    def close(self): pass
    def table(self, name): return self.tables.get(name)
    def create(self, table):
        self.tables[table.name] = TableFacts(table.name, table.columns, {}, "")
        return True
    def insert_all(self, target, values, ids):
        self.rows.extend(values)
        return []

sink.open_warehouse = lambda config: Dataset()
given = {"project": "p", "defaultDataset": "d", "dedup.mode": "keep_marked"}
config = BigQuerySinkConfig.parse(given)
assert "keep_marked: each record" in next(d for d in config.definitions() if d.name == "dedup.mode").doc
task = sink.BigQuerySinkTask(config)
task.open(FakeSinkContext())
offsets, where = pa.array([7, 8]), TopicPartition("orders", 3)
values = Column.from_arrow(pa.array([{"n": 1}, {"n": 2}]), s.struct({"n": s.INT64}))
task.put(Batch("orders", values, timestamps_ms=offsets, consumed=Consumed(where, offsets, 9)), Deadline.after(60))
deadline = Deadline.after(120)
while task.flush(Deadline.after(60)) != {where: 9}:
    assert deadline.wait(0.05), "the rows never landed"
task.close()
print(json.dumps([[row["n"], row["_kafka_partition"], row["_kafka_offset"]] for row in Dataset.rows]))
"""


def test_a_dedup_mode_is_a_class_and_its_place_in_the_list(product: TreeCopy):
    product.write("connectors/bigquery/modes/keep_marked.py", DEDUP_MODE)
    choice = "connectors/bigquery/modes/choice.py"
    product.insert(choice, "from connectors.bigquery.modes.keep_marked import KeepMarkedMode\n",
                   before="from connectors.bigquery.modes.merge import")  # fmt: skip
    product.insert(choice, ", KeepMarkedMode", before=")\n}\n")
    assert product.run(WRITE_TO_BIGQUERY) == "[[1, 3, 7], [2, 3, 8]]\n"
    assert len(product.touched) <= MOST_FILES
    named_in_architecture(product.touched)


FORMAT_WRITER = '''"""Files of a line per record, whose fields stand between tabs."""

from __future__ import annotations

from connect.api.records import Batch
from connectors.s3.formats.file_format import Prepared
from connectors.s3.formats.text import JsonFormat


class TabsFormat(JsonFormat):
    """Writes structs as lines of texts."""

    @property
    def extension(self) -> str:
        """Return .tsv, and what the compression adds."""
        return f".tsv{self.compression.extension}"

    def prepare(self, batch: Batch) -> Prepared:
        """Return a line per row."""
        import pyarrow as pa
        import pyarrow.compute as pc

        columns = [column.cast(pa.large_string()) for column in batch.arrow().columns]
        lines = pc.binary_join_element_wise(*columns, pa.scalar("\\t", pa.large_string()))
        return Prepared(lines.cast(pa.large_binary()), None)
'''
FORMAT_SPEC = '''class _Tabs(_Json):
    """Describes files of a line per record, whose fields stand between tabs."""

    class_name = "example.TabsFormat"
    aiven_type = "tsv"

    def writer(self, settings: FormatSettings) -> Format:
        """Return lines of fields."""
        from connectors.s3.formats.tabs import TabsFormat

        return TabsFormat(settings.compression)

    def aiven_writer(self, envelope: Envelope, settings: FormatSettings) -> Format:
        """Return the same lines."""
        return self.writer(settings)


'''
WRITE_TO_S3 = """
import sys
from pathlib import Path
import pyarrow as pa
from connect.api import schema as s
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.s3.aiven.config import AivenS3SinkConfig
from connectors.s3.aiven.plan import AivenPlan
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.sink.build import ConfluentPlan
from connectors.s3.sink.sink import S3SinkTask

root = Path(sys.argv[1])
config = S3SinkConfig.parse({
    "storage.class": "connect.s3.LocalStorage", "s3.bucket.name": str(root), "s3.local.folders": str(root.parent),
    "format.class": "TabsFormat", "flush.size": "2", "s3.compression.type": "gzip"})
task = S3SinkTask(ConfluentPlan(config))
task.open(FakeSinkContext())
offsets, where = pa.array([0, 1]), TopicPartition("t", 0)
values = Column.from_arrow(pa.array([{"n": 1, "p": "a"}, {"n": 2, "p": "b"}]), s.struct({"n": s.INT64, "p": s.STRING}))
batch = Batch("t", values, timestamps_ms=offsets, consumed=Consumed(where, offsets, 2))
task.put(batch, Deadline.after(60))
assert task.flush(Deadline.after(60)) == {where: 2}
task.close()
print(*(file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file()))
aiven = AivenPlan(AivenS3SinkConfig.parse({"aws.s3.bucket.name": "b", "format.output.type": "tsv"}))
print(type(aiven.intake(lambda: 0, FakeSinkContext().avro).format).__name__)
"""


def test_a_file_format_is_a_description_and_its_writer_for_both_families_of_keys(product: TreeCopy, tmp_path: Path):
    product.write("connectors/s3/formats/tabs.py", FORMAT_WRITER)
    specs = "connectors/s3/formats/format_specs.py"
    product.insert(specs, FORMAT_SPEC, before="FORMATS: Final[dict")
    product.insert(specs, ", _Tabs()", before=")\n}\n")
    (tmp_path / "bucket").mkdir()
    name = "topics/t/partition=0/t+0+0000000000.tsv.gz"
    assert product.run(WRITE_TO_S3, str(tmp_path / "bucket")) == f"{name}\nTabsFormat\n"
    assert gzip.decompress((tmp_path / "bucket" / name).read_bytes()) == b"1\ta\n2\tb\n"
    assert len(product.touched) <= MOST_FILES
    named_in_architecture(product.touched)


TRANSFORM = '''"""Shout: writes the texts of the value in capital letters."""

from __future__ import annotations

from dataclasses import dataclass

from connect.api import config as c
from connect.api.records import Batch, Column
from connect.transforms.structure.sides import Side


class ShoutConfig(c.Config):
    """The settings of Shout."""

    end: c.String = c.key("end", "!", doc="Written behind each text.")


@dataclass(frozen=True, slots=True)
class _Shout:
    side: Side
    end: str

    def apply(self, batch: Batch) -> list[Batch]:
        column = self.side.of(batch)
        rows = [None if row is None else row.upper() + self.end for row in column.rows()]
        return [self.side.put(batch, Column.from_rows(rows, column.schema))]


def key(config: ShoutConfig) -> _Shout:
    """Return Shout$Key."""
    return _Shout(Side.KEY, config.end)


def value(config: ShoutConfig) -> _Shout:
    """Return Shout$Value."""
    return _Shout(Side.VALUE, config.end)
'''
TRANSFORM_ROWS = """
from connect.api import schema as s
from connect.api.records import Batch, Column
from connect.plugins.catalog import Catalog

catalog = Catalog.installed()
found = catalog.find("connect.transforms.Shout$Value")
shout = catalog.load(found)(found.config.parse({"end": "?"}))
(batch,) = shout.apply(Batch("t", Column.from_rows(["a", None], s.STRING.as_optional())))
print(batch.values.rows())
"""


def test_a_transform_is_a_module_and_its_line_in_the_declaration(product: TreeCopy):
    product.write("connect/transforms/shout.py", TRANSFORM)
    plugin = "connect/transforms/plugin.py"
    product.insert(plugin, '    ("Shout", "shout", "shout:ShoutConfig", "Writes texts in capital letters."),\n',
                   before='    ("Sql", "code.sql"')  # fmt: skip
    assert product.run(TRANSFORM_ROWS) == "['A?', None]\n"
    assert len(product.touched) <= MOST_FILES
    named_in_architecture(product.touched)


READ_FROM_TOYBASE = """
import sqlite3, sys
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.source.connector import JdbcSourceConnector

path = sys.argv[1]
with sqlite3.connect(path) as connection:
    connection.execute("CREATE TABLE toys (id INTEGER PRIMARY KEY, name TEXT)")
    connection.executemany("INSERT INTO toys VALUES (?, ?)", [(1, "top"), (2, "kite")])
given = {
    "name": "toys", "connector.class": "JdbcSourceConnector", "connection.url": f"jdbc:toybase:{path}",
    "mode": "incrementing", "table.whitelist": "toys", "topic.prefix": "", "allowed.paths": "/",
}
connector = JdbcSourceConnector(JdbcSourceConfig.parse(given))
assert connector.check(Deadline.after(60)) == []
task = connector.task({**given, **connector.task_configs(1)[0]})
task.open(FakeSourceContext())
deadline = Deadline.after(60)
batch = None
while batch is None and not deadline.expired:
    batch = task.poll(Deadline.after(5))
task.close()
print([row.value for row in batch.rows()])
"""


def test_a_database_is_a_dialect_and_its_line_in_the_list(product: TreeCopy, tmp_path: Path):
    dialect = (ROOT / "tests/spec/made_up_dialect.py").read_text(encoding="utf-8")
    product.write("connectors/jdbc/dialects/partly_known/toybase.py", dialect)
    product.insert("connectors/jdbc/dialects/known.py", '    "toybase": f"{_HERE}.partly_known.toybase:Toybase",\n',
                   before='    "vertica"')  # fmt: skip
    said = product.run(READ_FROM_TOYBASE, str(tmp_path / "toys.db"))
    assert said == "[{'id': 1, 'name': 'top'}, {'id': 2, 'name': 'kite'}]\n"
    assert len(product.touched) <= MOST_FILES
    named_in_architecture(product.touched)


RESOURCE = '''"""`/pulse`: a sign of life."""

from __future__ import annotations

from aiohttp import web

from connect.rest.server.answers import json_answer
from connect.rest.server.routing import Route


async def get_pulse(request: web.Request) -> web.Response:
    """Answer that the worker lives."""
    return json_answer({"path": request.path, "beats": 1})


ROUTES = (Route("GET", "/pulse", get_pulse),)
'''
COMMAND = '''"""`connect pulse`: a sign of life of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from connect.cli.shared.cluster_options import cluster_command

if TYPE_CHECKING:
    from connect.client.rest import ConnectClient

_commands = click.Group()


@cluster_command(_commands)
def pulse(client: ConnectClient) -> None:
    """Ask a cluster whether it lives."""
    click.echo(client.call("GET", "/pulse")["beats"])
'''
SERVE_AND_ASK = """
from memory_cluster import MemoryOperations
from sample_plugins import catalog, worker_config
from connect.cli import main
from connect.rest.app import rest_app
from connect.rest.rest_server import HttpThread
from connect.rest.server.context import RestContext
from connect.rest.server.listeners import bind

settings = worker_config(listeners="http://127.0.0.1:0")
bound = bind(settings)
server = HttpThread(rest_app(RestContext(MemoryOperations(), catalog(), settings, worker_id=bound.worker_id)), bound)
server.start()
try:
    main(["--help"], standalone_mode=False)
    main(["pulse", "--url", server.url], standalone_mode=False)
finally:
    server.stop()
    bound.close()
"""


def test_a_resource_and_its_command_are_a_module_and_a_line_each(product: TreeCopy):
    product.write("connect/rest/resources/pulse.py", RESOURCE)
    product.insert("connect/rest/app.py", "    pulse,\n", before="    root,\n    tasks,\n    topics,\n    why,\n)\n")
    product.insert("connect/rest/app.py", "        pulse,\n", before="        backfills,\n        evaluations,\n")
    of_the_resource, product.touched = product.touched, set()
    product.write("connect/cli/pulse.py", COMMAND)
    product.insert("connect/cli/__init__.py", '    "pulse": "A sign of life.",\n', before='    "reference": "Print')
    said = product.run(SERVE_AND_ASK)
    assert "A sign of life." in said
    assert said.splitlines()[-1] == "1"
    assert max(len(of_the_resource), len(product.touched)) <= MOST_FILES
    named_in_architecture(of_the_resource | product.touched)
