"""Runs many tasks on many workers: holds what should run where, and the stores in Kafka that everyone agrees on."""
