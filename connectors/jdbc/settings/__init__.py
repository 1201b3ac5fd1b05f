"""Holds the settings of the JDBC source."""
