"""Holds the sandbox of an evaluation, and what its runs of sources and sinks share."""
