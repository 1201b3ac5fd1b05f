"""Finds users by passwords, tokens or certificates, and their roles. Knows nothing of routes."""
