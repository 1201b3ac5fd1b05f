"""Aiven's S3 sink by its class name: its settings, file names and record forms, on the same files as the other one."""
