"""Holds what Debezium's connectors share, whichever database they read."""
