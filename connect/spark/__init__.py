"""For users of Spark: what Spark lacks when it meets Kafka. Imported by programs of theirs, never by a worker."""

from connect.spark.sink import KafkaSink, kafka_sink

__all__ = ["KafkaSink", "kafka_sink"]
