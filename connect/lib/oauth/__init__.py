"""Speaks OAuth to issuers of tokens."""
