"""Holds stores of objects: S3, Google, Azure, HDFS, folders."""
