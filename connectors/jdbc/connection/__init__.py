"""Holds connections to databases, and pages of rows from them as Arrow."""
