"""Checks what a backfill has written against its source."""
