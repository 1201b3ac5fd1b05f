"""Offers Debezium's MySQL and MariaDB connectors by their own names and keys: the reader of mode=log does the work."""
