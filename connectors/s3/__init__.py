"""Provides the S3 sink, which writes each Kafka record into one object of an S3 bucket.

`README.md` says what it guarantees and how.
"""
