"""Says what a day of writing costs, by a plain model of Google's billing rules."""
