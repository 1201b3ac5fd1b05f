"""Holds the values of dedup.mode, an object for each: what it checks, promises and needs, and how it writes."""
