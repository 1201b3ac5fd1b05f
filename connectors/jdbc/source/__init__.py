"""Holds the JDBC source: its connector, its task, and its checks."""
