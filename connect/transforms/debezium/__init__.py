"""Transforms change events as Debezium's transforms do, under their class names and keys."""
