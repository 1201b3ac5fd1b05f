"""Binary formats over whole columns: one NumPy or Arrow call per step for all rows, never a Python object per row."""
