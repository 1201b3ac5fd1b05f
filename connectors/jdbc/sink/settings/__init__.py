"""Holds the settings of the JDBC sink."""
