"""Provides the Python data source `connect`: any source or sink plug-in that is installed, as frames of Spark, over
Arrow.

register(spark)
flights = spark.read.format("connect").options(**{"connector.class": "JdbcSource", ...}).load()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)

from connect.api.plugin import PluginKind
from connect.spark.options import FrameOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

FORMAT = "connect"


class ConnectDataSource(DataSource):
    """Is the data source `connect`. Its options are the connector's own keys, and those that begin with `connect.`."""

    @classmethod
    def name(cls) -> str:
        """Return the name that `format` takes."""
        return FORMAT

    def schema(self) -> StructType:
        """Return the columns of the first rows. Spark calls this if the user names no columns."""
        from connect.spark.reader import sampled_type

        return sampled_type(self._given(PluginKind.SOURCE))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of all rows that the source has now."""
        from connect.spark.reader import ConnectReader

        return ConnectReader(self._given(PluginKind.SOURCE), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return a reader of the source as a stream, from its beginning on."""
        from connect.spark.stream_reader import ConnectStreamReader

        return ConnectStreamReader(self._given(PluginKind.SOURCE), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: ARG002 - rows say it
        """Return a writer of rows into a sink."""
        from connect.spark.writer import ConnectWriter

        return ConnectWriter(self._given(PluginKind.SINK), overwrite=overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002, N802 - Spark's
        """Return a writer of micro-batches into a sink."""
        from connect.spark.writer import ConnectStreamWriter

        return ConnectStreamWriter(self._given(PluginKind.SINK))

    def _given(self, kind: PluginKind) -> FrameOptions:
        return FrameOptions.of(dict(self.options), kind)


def register(spark: SparkSession) -> None:
    """Make `format("connect")` known to a session. The machines of its executors need this package, too."""
    spark.dataSource.register(ConnectDataSource)
