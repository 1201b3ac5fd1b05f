"""Offers Aiven's sinks under their class names, with their settings, file names and record forms."""
