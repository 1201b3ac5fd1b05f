"""Prints Connect values as Java does, and parses texts to values."""
