"""Finds segments of the commit log, reads them, and deletes them once they are sent."""
