"""The source that reads tables."""
