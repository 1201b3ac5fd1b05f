"""Holds the herder's thread and what all of its parts share."""
