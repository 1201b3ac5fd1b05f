"""Holds files of a topic partition, from the first row to the object."""
