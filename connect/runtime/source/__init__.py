"""Runs source tasks: reads their rows, and writes rows and offsets to Kafka."""
