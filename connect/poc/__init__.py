"""Checks on a user's own source or sink if a connector fits the data, and reports it: this is `connect poc`.

It runs the connector against topics, a worker and a Kafka of its own, and leaves nothing behind.
"""
