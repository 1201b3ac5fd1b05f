"""Decides the keys of objects: the path of each row, and the chain of objects in a path."""
