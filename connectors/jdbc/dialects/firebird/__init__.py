"""Describes Firebird to the JDBC connectors."""
