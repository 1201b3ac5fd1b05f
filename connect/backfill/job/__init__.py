"""Describes a backfill job as data: its specification, its state in Kafka, its chunks and its pace."""
