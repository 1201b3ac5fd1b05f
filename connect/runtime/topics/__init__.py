"""Makes missing topics that tasks need, and reads topics for sources."""
