"""The BigQuery sink: rows of topics into tables, deduplicated on chosen fields of the message."""
