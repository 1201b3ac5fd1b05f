"""Writes rows of topics into BigQuery tables, deduplicated on chosen fields of the message."""
