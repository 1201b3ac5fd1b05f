"""Holds the S3 sink: its connector, its task, its bulk writer."""
