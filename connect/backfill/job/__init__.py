"""A job of a backfill as data: its specification, its state in Kafka, its chunks and its pace."""
