"""Reads the lines of a file into a topic, and writes topics as lines of a file."""
