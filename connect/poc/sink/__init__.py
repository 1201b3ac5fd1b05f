"""The checks of a sink."""
