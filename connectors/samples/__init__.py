"""Makes up rows to try things with."""
