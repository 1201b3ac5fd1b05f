"""Holds the screens of the web UI: what each reads, and the page it makes of that."""
