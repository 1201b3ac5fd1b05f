"""`connect poc`: does this connector fit these data? Checks on the user's own source or sink, and a report of them.

It runs the connector against topics, a worker and a Kafka of its own, and leaves nothing behind.
"""
