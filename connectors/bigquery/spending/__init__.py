"""Counts the bytes that a connector's jobs are billed for, and keeps its merges within a budget."""
