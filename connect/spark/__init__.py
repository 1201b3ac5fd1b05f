"""Provides connectors as frames of Spark, and a Kafka sink that writes each batch once. Never imported by a worker."""

from connect.spark.sink import KafkaSink, kafka_sink

__all__ = ["KafkaSink", "kafka_sink", "register"]


def __getattr__(name: str) -> object:
    # PySpark is loaded where it is asked for: the sink above is a plain value.
    if name == "register":
        from connect.spark.data_source import register

        return register
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
