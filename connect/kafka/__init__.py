"""Reads and writes Kafka records as bytes in Arrow columns. Only this package imports confluent_kafka.

Import from the modules: `settings`, `errors`, `raw`, `producer`, `consumer`, `kv_log`, `topics`.
"""
