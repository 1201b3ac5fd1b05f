"""Kafka: the only package that imports confluent_kafka. Bytes in Arrow columns in and out; no converters, no tasks.

Import from the modules: `settings`, `errors`, `raw`, `producer`, `consumer`, `kv_log`, `topics`.
"""
