"""Offers Debezium's MySQL and MariaDB connectors under their own names and keys.

The reader of mode=log does the work.
"""
