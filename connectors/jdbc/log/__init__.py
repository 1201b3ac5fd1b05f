"""Holds `mode=log` of the JDBC source: change data capture from the database's own log."""
