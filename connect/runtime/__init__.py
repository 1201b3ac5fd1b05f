"""Runs tasks in child processes, with their loops, their offsets, their converters and transforms, and their errors."""
