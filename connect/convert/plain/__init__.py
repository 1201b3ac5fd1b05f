"""Converters without a schema format: strings, bytes, numbers; and what all converters share."""
