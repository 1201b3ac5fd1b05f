"""Asks a database about itself: its catalog, load, replicas, plans of queries."""
