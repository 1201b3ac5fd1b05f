"""The checks of a source."""
