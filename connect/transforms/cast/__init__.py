"""Holds the transform Cast."""
