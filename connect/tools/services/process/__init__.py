"""Starts, watches and ends the processes of services."""
