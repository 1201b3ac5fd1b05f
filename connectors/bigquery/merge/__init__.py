"""Merges staged rows into tables."""
