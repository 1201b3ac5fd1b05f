"""Counts what a connector's jobs are billed for, and holds its merges to a budget."""
