"""Holds the life of a source task: its rows and offsets into Kafka."""
