"""Write topics as Iceberg tables: `table.format=iceberg` of the S3 sink."""
