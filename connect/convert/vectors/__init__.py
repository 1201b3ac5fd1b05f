"""Reads and writes binary formats over whole columns: one NumPy or Arrow call per step for all rows.

There is never a Python object per row.
"""
