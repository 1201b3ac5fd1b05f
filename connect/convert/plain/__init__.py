"""Provides converters without a schema format, for strings, bytes and numbers; and what all converters share."""
