"""Provide the S3 sink: exactly-once files of Kafka records in an S3 bucket.

`README.md` says what it guarantees and how.
"""
