"""Shows sources, topics, sinks and backfills as one graph: what is declared, what is there, and how fast rows move."""
