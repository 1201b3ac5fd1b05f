"""Describes DuckDB to the JDBC connectors."""
