"""Keeps the figures that pages show, for all open pages at once."""
