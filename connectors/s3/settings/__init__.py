"""Holds the settings of the S3 sink."""
