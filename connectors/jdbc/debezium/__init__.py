"""Offers Debezium's PostgreSQL connector under its own name and keys. The reader of mode=log does the work."""
