"""Holds mode=log on PostgreSQL."""
