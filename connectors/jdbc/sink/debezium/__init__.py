"""Runs Debezium's JDBC sink by its own settings: change events and plain records become rows of tables."""
