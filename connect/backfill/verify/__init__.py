"""Checks the rows that a backfill has written against its source."""
