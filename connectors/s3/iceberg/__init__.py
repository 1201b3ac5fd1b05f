"""Appends topics to Iceberg tables: `table.format=iceberg` of the S3 sink, and the Iceberg sink."""
