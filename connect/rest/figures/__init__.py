"""Collects the figures of all tasks of the cluster, also of those on other workers."""
