"""Reads and changes where connectors stand."""
