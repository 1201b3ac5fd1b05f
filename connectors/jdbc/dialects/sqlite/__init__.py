"""Has the parts of SQLite."""
