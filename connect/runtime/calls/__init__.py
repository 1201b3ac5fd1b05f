"""Answers in a task host what a worker asks of connectors and of Kafka."""
