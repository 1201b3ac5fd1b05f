"""Has the parts of PostgreSQL."""
