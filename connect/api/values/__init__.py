"""Connect values as Java prints them, and texts as values."""
