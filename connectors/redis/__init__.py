"""Write records into Redis."""
