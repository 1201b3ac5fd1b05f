"""Holds mutations of the commit log as change events."""
