"""Holds the screens of the web UI: each reads what its page needs, and makes the page."""
