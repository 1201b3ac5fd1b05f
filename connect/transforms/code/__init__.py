"""Transforms whose code is the user's: Python functions and SQL."""
