"""The internal topics as this worker has read them."""
