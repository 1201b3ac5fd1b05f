"""Shows live rows of a connector before and after each of its transforms."""
