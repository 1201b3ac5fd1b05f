"""Holds jobs that a worker runs for REST in separate processes."""
