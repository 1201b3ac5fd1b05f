"""Holds values of databases as columns of Connect types."""
