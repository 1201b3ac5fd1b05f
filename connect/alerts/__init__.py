"""Tells a webhook what needs a person: once when it begins, and once when it is over."""
