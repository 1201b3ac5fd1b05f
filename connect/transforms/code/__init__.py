"""Holds the transforms that run the user's code: Python functions and SQL."""
