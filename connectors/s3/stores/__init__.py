"""Gives access to stores of objects: S3, Google, Azure, HDFS and folders."""
